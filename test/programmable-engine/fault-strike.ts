import type { Behaviour, Fault } from './behaviour.ts';
import type { Strike } from './body-writer.ts';
import { errorEvent } from './error-reply.ts';
import { framingOf } from './event-framing.ts';
import { type LifeSign, pauseAlive } from './living-pause.ts';
import type { Wire } from './wire.ts';

interface StrikeOptions {
  readonly behaviour: Behaviour;
  readonly headers: Readonly<Record<string, string>>;
  readonly names: { readonly engine: string; readonly model: string };
  /** Sent while a stall lasts. */
  readonly alive: LifeSign | undefined;
}

/** Does what the fault says; resolves to true when the answer goes on afterwards. */
export function strikeOf(wire: Wire, fault: Fault | undefined, options: StrikeOptions): Strike {
  const { behaviour } = options;
  const framing = framingOf(behaviour);
  return async (lastBytes) => {
    if (fault === undefined) return true;
    if (fault.kind !== 'truncate' && lastBytes.length > 0) await wire.send(lastBytes);
    // A fault that writes into the body needs headers; one that broke off inside an event starts a line of its own.
    const inject = async (data: string): Promise<void> => {
      if (!wire.headSent())
        wire.sendHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...options.headers });
      await wire.send((lastBytes.length > 0 ? '\n\n' : '') + data);
    };
    switch (fault.kind) {
      case 'cut':
        await wire.cut();
        return false;
      case 'reset':
        await wire.reset();
        return false;
      case 'truncate':
        await wire.truncate(lastBytes);
        return false;
      case 'end':
        await wire.end();
        return false;
      case 'stall':
        await pauseAlive(wire, behaviour.stallMs ?? Infinity, options.alive);
        return !wire.closed();
      case 'error':
        await inject(framing.event(errorEvent(behaviour, options.names)));
        await wire.end();
        return false;
      case 'error-then-done':
        await inject(framing.event(errorEvent(behaviour, options.names)) + framing.done);
        await wire.end();
        return false;
      case 'error-then-cut':
        await inject(framing.event(errorEvent(behaviour, options.names)));
        await wire.cut();
        return false;
      case 'malformed':
        await inject(framing.event(behaviour.malformedLine ?? malformedLine));
        return true;
      case 'malformed-then-cut':
        await inject(framing.event(behaviour.malformedLine ?? malformedLine));
        await wire.cut();
        return false;
    }
  };
}

const malformedLine = '{"id":"chatcmpl-broken","choices":[{"index":0,"delta":{"content":"lost';
