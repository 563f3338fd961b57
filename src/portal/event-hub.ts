import { Readable } from 'node:stream';
import type { Session } from '../books/core/administration.ts';
import { type Clock, every } from '../core/clock.ts';
import type { EndedKind, PortalEvent } from './api/events.ts';

/** One open stream of a page or a script. */
export interface Reader {
  /** The stream ends with this session. Undefined: a Bearer token. */
  readonly sessionHash: string | undefined;
  /** When the session expires. Checked here, because the database may be away then. Undefined: a Bearer token. */
  readonly expiresAt: number | undefined;
  /** Identifies the person, over all sessions of that person (`provenIdentity`). */
  readonly person: string;
  /** The part of an event that the reader may see. Undefined: none. */
  readonly allow: (event: PortalEvent, about: EventSubject) => PortalEvent | undefined;
  /** Takes over the roles that the session has now. */
  readonly renew: (session: Session) => void;
}

/** The workspace that an event is about. Undefined: none. */
export interface EventSubject {
  readonly workspaceId: string | undefined;
  /** Of a request: why it failed, as members see it. */
  readonly memberReason?: string | null;
}

export interface PublishedEvent {
  readonly event: PortalEvent;
  readonly about: EventSubject;
}

export type EventHub = ReturnType<typeof createEventHub>;

/** Most streams of one session, and of one person. One more stream ends the oldest. */
const maxOfSession = 8;
const maxOfPerson = 32;

/** Most bytes that wait for one reader. Further events are dropped, and `missed` reports their number. */
const maxWaiting = 64 * 1024;
const heartbeatMs = 15_000;
const sessionEnded = 'The session has ended.';

interface OpenReader extends Omit<Reader, 'expiresAt'> {
  expiresAt: number | undefined;
  readonly stream: Readable;
  missed: number;
}

export function createEventHub(clock: Clock) {
  const open = new Set<OpenReader>();
  const cancel = every(clock, heartbeatMs, () => {
    endExpired();
    // A stream with unread bytes needs no heartbeat.
    for (const { stream } of open) if (stream.readableLength === 0) stream.push(': here\n\n');
  });

  /** One write for all events: a write costs the same for one event as for a hundred. */
  function send(reader: OpenReader, events: readonly PublishedEvent[]): void {
    let text = '';
    for (const { event, about } of events) {
      const allowed = reader.allow(event, about);
      if (allowed === undefined) continue;
      if (reader.stream.readableLength + text.length >= maxWaiting) {
        reader.missed += 1;
        continue;
      }
      if (reader.missed > 0) {
        text += textOf({ name: 'missed', data: { events: reader.missed } });
        reader.missed = 0;
      }
      text += textOf(allowed);
    }
    if (text !== '') reader.stream.push(text);
  }

  function end(reader: OpenReader, kind: EndedKind, reason: string): void {
    open.delete(reader);
    reader.stream.push(textOf({ name: 'ended', data: { kind, reason } }));
    reader.stream.push(null);
  }

  function endExpired(): void {
    for (const reader of open) if ((reader.expiresAt ?? Infinity) <= clock.now()) end(reader, 'session', sessionEnded);
  }

  /** Ends the oldest stream of a session or a person with too many. A set keeps its readers in the order of their arrival. */
  function makeRoom({ sessionHash, person }: Reader): void {
    const readers = [...open];
    const ofSession = readers.filter((one) => sessionHash !== undefined && one.sessionHash === sessionHash);
    const ofPerson = readers.filter((one) => one.person === person);
    const surplus = [
      ...ofSession.slice(0, Math.max(0, ofSession.length + 1 - maxOfSession)),
      ...ofPerson.slice(0, Math.max(0, ofPerson.length + 1 - maxOfPerson)),
    ];
    for (const reader of new Set(surplus))
      end(reader, 'replaced', 'Too many pages of this session or person are open.');
  }

  return {
    /** Opens a stream of server-sent events. It ends with the session, or when the reader closes it. */
    open: (reader: Reader, first: readonly PublishedEvent[]): Readable => {
      makeRoom(reader);
      const stream = new Readable({
        // Reports missed events as soon as the reader has caught up, also when no event follows.
        read: () => {
          if (opened.missed === 0) return;
          const events = opened.missed;
          opened.missed = 0;
          stream.push(textOf({ name: 'missed', data: { events } }));
        },
      });
      const opened: OpenReader = { ...reader, stream, missed: 0 };
      stream.on('close', () => open.delete(opened));
      stream.on('error', () => open.delete(opened));
      open.add(opened);
      // The first bytes show proxies and browsers that the stream has begun.
      stream.push('retry: 2000\n\n');
      send(opened, first);
      return stream;
    },
    /** Sends events to all readers, in this order. */
    publish: (events: readonly PublishedEvent[]): void => {
      endExpired();
      for (const reader of open) send(reader, events);
    },
    /** Gives the streams of a session the roles that it has now. */
    renewSession: (session: Session): void => {
      for (const reader of open) {
        if (reader.sessionHash !== session.hash) continue;
        reader.expiresAt = session.expiresAt;
        reader.renew(session);
      }
    },
    /** Ends the streams of a session. */
    endSession: (hash: string): void => {
      for (const reader of open) if (reader.sessionHash === hash) end(reader, 'session', sessionEnded);
    },
    /** The sessions with open streams. */
    sessions: (): ReadonlySet<string> => new Set([...open].flatMap(({ sessionHash }) => sessionHash ?? [])),
    readers: (): number => open.size,
    close: (): void => {
      cancel();
      for (const reader of open) end(reader, 'portal', 'The portal is ending.');
    },
  };
}

/** JSON has no line break, so each event is one line of data. */
const textOf = oncePerEvent((event) => `event: ${event.name}\ndata: ${JSON.stringify(event.data)}\n\n`);

/** Caches a result for each event: made once for all readers, and dropped with the event. */
export function oncePerEvent<Made, Given extends readonly unknown[]>(
  make: (event: PortalEvent, ...given: Given) => Made,
): (event: PortalEvent, ...given: Given) => Made {
  const made = new WeakMap<PortalEvent, { readonly value: Made }>();
  return (event, ...given) => {
    const known = made.getOrInsertComputed(event, () => ({ value: make(event, ...given) }));
    return known.value;
  };
}
