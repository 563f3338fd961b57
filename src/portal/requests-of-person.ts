import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from './callers.ts';
import { type Refusal, refusal } from '../books/core/operator-refusals.ts';

/** Requests of one session that run at a time, and of one person with all sessions. A page asks for up to eight things at once. */
const maxOfSession = 4;
const maxOfPerson = 8;
/** Requests of one person that wait for their turn. */
const maxWaiting = 64;

/** Calls of the playground of one person at a time. A chat may last for minutes, so more of them do not wait. */
const maxChatsOfPerson = 8;

/** Streams that the hub of events bounds. */
const eventStream = '/api/v1/events';
const playground = '/api/v1/playground/';

interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

/** A few places for each name; one without a place waits in line. */
function createLines(maxRunning: number) {
  const lines = new Map<string, Line>();
  const leave = (name: string, line: Line): void => {
    const next = line.waiting.shift();
    // In a later turn: SQLite answers at once, so otherwise a whole line would be served in one turn, and others wait for its end.
    if (next !== undefined) setImmediate(next);
    else {
      line.running -= 1;
      if (line.running === 0) lines.delete(name);
    }
  };
  return {
    waiting: (name: string): number => lines.get(name)?.waiting.length ?? 0,
    isFull: (name: string): boolean => lines.get(name)?.running === maxRunning,
    /** Resolves to the function that gives the place back, when there is one. */
    enter: async (name: string): Promise<() => void> => {
      const line = lines.getOrInsertComputed(name, () => ({ running: 0, waiting: [] }));
      if (line.running < maxRunning) line.running += 1;
      else await new Promise<void>((resolve) => line.waiting.push(resolve));
      return () => leave(name, line);
    },
  };
}

/**
 * Limits the requests of one person that run at a time, so that the pages of others do not wait for them. More requests wait in line,
 * because the pages ask for several things at once; with too many in line they are refused. Call the result for each request that has
 * been authenticated.
 */
export function createPersonLimit(): (caller: Caller, request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const ofSessions = createLines(maxOfSession);
  const ofPersons = createLines(maxOfPerson);
  const chats = createLines(maxChatsOfPerson);
  return async ({ actor, session }, { routeOptions: { url } }, reply) => {
    if (url === eventStream) return;
    const person = JSON.stringify([actor.kind, session?.credential ?? actor.name]);
    if (url?.startsWith(playground) === true) {
      if (chats.isFull(person)) throw tooMany('chats');
      leaveAtEnd(reply, await chats.enter(person));
      return;
    }
    const own = session?.hash ?? person;
    if (ofSessions.waiting(own) + ofPersons.waiting(person) >= maxWaiting) {
      throw tooMany('requests');
    }
    const leaveSession = await ofSessions.enter(own);
    const leavePerson = await ofPersons.enter(person);
    leaveAtEnd(reply, () => {
      leavePerson();
      leaveSession();
    });
  };
}

const tooMany = (what: 'requests' | 'chats'): Refusal => refusal('session_busy', { what }, { retryAfterSeconds: 1 });

function leaveAtEnd(reply: FastifyReply, leave: () => void): void {
  // The caller may have left while it waited.
  if (reply.raw.closed) leave();
  else reply.raw.once('close', leave);
}
