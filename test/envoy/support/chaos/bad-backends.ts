import type { BehaviourInput } from '../../../programmable-engine/behaviour.ts';
import { startProgrammableEngine } from '../../../programmable-engine/engine.ts';
import { openBlackHole } from './black-hole.ts';
import { lowPort } from './low-port.ts';

/** A backend that is no good. */
export interface BadBackend {
  readonly port: number;
  /** Calls that it holds now; of those that never reached it, it knows nothing. */
  readonly openRequests: () => number;
  readonly close: () => Promise<void>;
}

type Open = (usual: BehaviourInput) => Promise<BadBackend>;

const misbehaving =
  (fault: BehaviourInput): Open =>
  async (usual) =>
    startProgrammableEngine({ name: 'bad', behaviour: { ...usual, ...fault } });

/** Half a second good, half a second bad. */
const flapping =
  (fault: BehaviourInput): Open =>
  async (usual) => {
    const engine = await startProgrammableEngine({ name: 'bad', behaviour: usual });
    let isBad = false;
    const timer = setInterval(() => {
      isBad = !isBad;
      engine.set(isBad ? { ...usual, ...fault } : usual);
    }, 500);
    return {
      ...engine,
      close: () => {
        clearInterval(timer);
        return engine.close();
      },
    };
  };

/** Every way of being bad that the next route has to make up for, unseen. */
export const badBackends = {
  'swallows every SYN': async () => ({ ...(await openBlackHole()), openRequests: () => 0 }),
  'refuses connections': async () => ({
    ...{ port: await lowPort(), openRequests: () => 0, close: async () => undefined },
  }),
  'accepts and never answers': misbehaving({ fault: 'stall', at: 'before-headers' }),
  'answers headers and then stalls': misbehaving({ fault: 'stall', at: 'after-headers' }),
  'sends comments for ever': misbehaving({ fault: 'stall', at: 'after-headers', keepAliveMs: 100 }),
  'answers 200 with a web page': misbehaving({ status: 200, errorBody: 'html' }),
  'is overloaded every other half second': flapping({ status: 503 }),
  'resets connections every other half second': flapping({ fault: 'reset', at: 'before-headers' }),
} satisfies Readonly<Record<string, Open>>;
export type BadKind = keyof typeof badBackends;
