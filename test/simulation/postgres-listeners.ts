import { EventEmitter } from 'node:events';
import type { ListeningClient } from '../../src/books/databases/postgres/connections.ts';
import { connectionError, type Way } from './postgres-way.ts';
import type { Program } from './program.ts';

/** The model of `listen` and `notify`: a notification takes a moment, and is lost with its connection. */
export interface Listeners {
  readonly notify: () => void;
  readonly add: (program: Program, way: Way) => Listener;
}

export interface Listener {
  readonly client: ListeningClient;
  /** Its connection breaks. */
  readonly end: () => void;
}

export function createListeners(): Listeners {
  const listening = new Set<() => void>();

  return {
    notify: () => {
      for (const tell of listening) tell();
    },
    add: (program, way) => {
      const events = new EventEmitter();
      const tell = (): void => {
        if (way.isAway()) end();
        else program.deliver(way.ms(), () => listening.has(tell) && events.emit('notification'));
      };
      const end = (): void => {
        listening.delete(tell);
        program.deliver(0, () => events.emit('end'));
      };
      const client: ListeningClient = Object.assign(events, {
        connect: async () => {
          await way.pass();
          if (way.isAway()) throw connectionError('ECONNREFUSED');
        },
        query: async () => {
          await way.pass();
          listening.add(tell);
        },
        end: async () => end(),
      });
      return { client, end };
    },
  };
}
