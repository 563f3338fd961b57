import { Readable } from 'node:stream';
import { type Clock, every } from '../core/clock.ts';
import type { EndedKind, PortalEvent } from './api/events.ts';

/** Somebody who looks at a page. */
export interface Reader {
  /** Ends with it; undefined: a Bearer token. */
  readonly sessionHash: string | undefined;
  /** The same for all sessions of one person. */
  readonly person: string;
  /** What of an event the reader may see; undefined: nothing. */
  readonly allow: (event: PortalEvent, about: EventSubject) => PortalEvent | undefined;
}

/** Whom an event is about: undefined where it is about no workspace. */
export interface EventSubject {
  readonly workspaceId: string | undefined;
}

export interface ToldEvent {
  readonly event: PortalEvent;
  readonly about: EventSubject;
}

export interface EventHub {
  /** A stream of server-sent events for a reader. It ends with the session, or when the reader goes. */
  readonly open: (reader: Reader, first: readonly ToldEvent[]) => Readable;
  /** Tells what has happened at once, in the order given. */
  readonly tell: (told: readonly ToldEvent[]) => void;
  /** Ends the streams of a session. */
  readonly endSession: (hash: string) => void;
  /** The sessions of those who look now. */
  readonly sessions: () => ReadonlySet<string>;
  readonly readers: () => number;
  readonly close: () => void;
}

/** Streams of one session, and of one person: another one closes the oldest. */
const mostOfSession = 8;
const mostOfPerson = 32;

/** Most that waits for one reader, bytes; further events are left out, and the reader is told how many. */
const mostWaiting = 64 * 1024;
const heartbeatMs = 15_000;

interface OpenReader extends Reader {
  readonly stream: Readable;
  missed: number;
}

export function createEventHub(clock: Clock): EventHub {
  const open = new Set<OpenReader>();
  const cancel = every(clock, heartbeatMs, () => {
    // A reader whose stream is not empty has something to read already.
    for (const { stream } of open) if (stream.readableLength === 0) stream.push(': here\n\n');
  });

  /** In one piece: each costs a reader's connection the same, whether it has one event or a hundred. */
  function send(reader: OpenReader, told: readonly ToldEvent[]): void {
    let text = '';
    for (const { event, about } of told) {
      const allowed = reader.allow(event, about);
      if (allowed === undefined) continue;
      if (reader.stream.readableLength + text.length >= mostWaiting) {
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

  /** A set has its readers in the order in which they came. */
  function makeRoom({ sessionHash, person }: Reader): void {
    const readers = [...open];
    const ofSession = readers.filter((one) => sessionHash !== undefined && one.sessionHash === sessionHash);
    const ofPerson = readers.filter((one) => one.person === person);
    const surplus = [
      ...ofSession.slice(0, Math.max(0, ofSession.length + 1 - mostOfSession)),
      ...ofPerson.slice(0, Math.max(0, ofPerson.length + 1 - mostOfPerson)),
    ];
    for (const reader of new Set(surplus))
      end(reader, 'replaced', 'Too many pages of this session or person are open.');
  }

  return {
    open: (reader, first) => {
      makeRoom(reader);
      const stream = new Readable({
        // A reader that has caught up is told what it missed, also while nothing new happens.
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
      // Proxies and browsers then see that the stream has begun.
      stream.push('retry: 2000\n\n');
      send(opened, first);
      return stream;
    },
    tell: (told) => {
      for (const reader of open) send(reader, told);
    },
    endSession: (hash) => {
      for (const reader of open) if (reader.sessionHash === hash) end(reader, 'session', 'The session has ended.');
    },
    sessions: () => new Set([...open].flatMap(({ sessionHash }) => sessionHash ?? [])),
    readers: () => open.size,
    close: () => {
      cancel();
      for (const reader of open) end(reader, 'portal', 'The portal is ending.');
    },
  };
}

/** JSON has no line break, so each event is one line of data. */
const textOf = oncePerEvent((event) => `event: ${event.name}\ndata: ${JSON.stringify(event.data)}\n\n`);

/** What is made of an event, once for all readers and for as long as the event lasts. */
export function oncePerEvent<Made>(make: (event: PortalEvent) => Made): (event: PortalEvent) => Made {
  const made = new WeakMap<PortalEvent, { readonly value: Made }>();
  return (event) => {
    const known = made.get(event) ?? { value: make(event) };
    made.set(event, known);
    return known.value;
  };
}
