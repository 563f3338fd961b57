import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerHttp2Session } from 'node:http2';

/** Bytes Envoy may have on the way to us: on one stream, and on all streams of a connection together. */
const streamWindowBytes = 256 * 1024;
const connectionWindowBytes = 16 * 1024 * 1024;

const channel = 'http2.server.stream.created';

export interface WidenedWindows {
  /** Leaves new connections as they are. */
  readonly stop: () => void;
  /** Closes every connection at once, whatever is under way on it. */
  readonly cut: () => void;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function isSession(value: unknown): value is ServerHttp2Session {
  return typeof field(value, 'setLocalWindowSize') === 'function';
}

/**
 * Widens the HTTP/2 windows of every connection to this process's servers, at its first stream. Node's default of 64 KiB
 * for a whole connection lets one large upload hold up every other request that Envoy sends over it, for seconds
 * (measured); grpc-js does not set it, and hands out no session.
 */
export function widenWindows(): WidenedWindows {
  const seen = new Set<ServerHttp2Session>();
  const widen = (message: unknown): void => {
    const session = field(field(message, 'stream'), 'session');
    if (!isSession(session) || seen.has(session)) return;
    seen.add(session);
    session.once('close', () => seen.delete(session));
    session.setLocalWindowSize(connectionWindowBytes);
    session.settings({ initialWindowSize: streamWindowBytes });
  };
  subscribe(channel, widen);
  return {
    stop: () => {
      unsubscribe(channel, widen);
    },
    cut: () => {
      for (const session of seen) session.destroy();
    },
  };
}
