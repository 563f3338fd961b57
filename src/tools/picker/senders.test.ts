import { beforeEach, describe, expect, it } from 'vitest';
import type { PickAnswer } from './picker.ts';
import { createAffinity } from '../../gateway/routing/affinity.ts';
import { createEndpointPool } from '../../gateway/routing/pool/pool.ts';
import { createEndpointPicker, type RunningPicker } from './endpoint-picker.ts';
import type { ReadPrompt } from './read-prompt.ts';
import { createSenders } from './senders.ts';

const names = ['10.0.0.1:8000', '10.0.0.2:8000', '10.0.0.3:8000'] as const;
const [a, b, c] = names;

let now: number;
let prompts: number;
let prompt: ReadPrompt;
let reasons: string[];
let picker: RunningPicker;

/** A prompt that shares no block with another one. */
function newPrompt(blocks = 4): ReadPrompt {
  prompts += 1;
  return {
    prompt: {
      digests: Array.from({ length: blocks }, (_, at) => prompts * 1000 + at),
      ends: Array.from({ length: blocks }, (_, at) => (at + 1) * 500),
      tokens: blocks * 500,
    },
    stream: true,
    conversation: prompts,
  };
}

beforeEach(() => {
  now = 0;
  prompts = 0;
  reasons = [];
  let turns = 0;
  picker = createEndpointPicker({
    name: 'ns/qwen',
    createPool: () => createEndpointPool(undefined),
    isApart: () => false,
    affinityOf: createAffinity(() => 'ns/qwen'),
    readPrompt: () => prompt,
    retryEndpoints: 0,
    firstTokenMs: undefined,
    clock: { elapsed: () => now },
    random: () => ((turns += 1) * 0.618) % 1,
    events: { picked: (why) => reasons.push(why), refused: () => undefined },
  });
  picker.setEndpoints(
    names.map((name) => ({ name, address: name.split(':')[0] ?? '', port: 8000, authority: name, zone: undefined })),
  );
});

type Picked = PickAnswer & { readonly kind: 'picked' };

function pickFor(sender: string, subset?: readonly string[]): Picked {
  const answer = picker.pick({ sender, path: '/', body: undefined, subset });
  if (answer instanceof Promise || answer.kind === 'refused') throw new Error('no endpoint');
  return answer;
}

const event = (body: object): Uint8Array => new TextEncoder().encode(`data: ${JSON.stringify(body)}\n\n`);

function end({ answer }: Picked, { status = 200, usage = {} }: { status?: number; usage?: object } = {}): void {
  const header = (name: string): string | undefined => (name === 'content-type' ? 'text/event-stream' : undefined);
  answer.head({ status, served: undefined, header });
  answer.body(event({ choices: [{ delta: { content: 'x' } }], usage }));
  answer.ended('complete');
}

/** Sends new prompts of the gateway, each after the answer to the last one, and returns how many each endpoint got. */
function sendInTurn(count: number): readonly number[] {
  const got = names.map(() => 0);
  for (let at = 0; at < count; at += 1) {
    prompt = newPrompt();
    const picked = pickFor('gateway');
    const index = names.findIndex((name) => name === picked.endpoints[0]);
    got[index] = (got[index] ?? 0) + 1;
    now += 500;
    end(picked);
  }
  return got;
}

/** Opens requests with new prompts, whose answers do not come. */
function open(count: number, sender: string, subset?: readonly string[]): readonly Picked[] {
  return Array.from({ length: count }, () => {
    prompt = newPrompt();
    return pickFor(sender, subset);
  });
}

/** What a sender may report of two endpoints to move requests to the first one. */
const lies: Readonly<Record<string, (sender: string) => void>> = {
  'that they fail': (sender) => {
    for (const one of open(200, sender, [b, c])) end(one, { status: 500 });
  },
  'that their first tokens come late': (sender) => {
    const opened = open(200, sender, [b, c]);
    now += 20_000;
    for (const one of opened) end(one);
  },
  'that they answer nothing': (sender) => {
    open(200, sender, [b, c]);
  },
};

describe.each(Object.entries(lies))('200 false reports %s', (_, lie) => {
  it('move no request of another sender', () => {
    sendInTurn(30);
    lie('stranger');
    for (const got of sendInTurn(30)) expect(got).toBeGreaterThanOrEqual(7);
  });

  it('would move all of its requests if the reports of all senders counted alike', () => {
    sendInTurn(30);
    lie('gateway');
    expect(sendInTurn(30)).toEqual([30, 0, 0]);
  });
});

describe('requests that a sender opens at an endpoint and never ends', () => {
  /** How many of 30 concurrent requests of the gateway go to that endpoint. */
  function besideOpen(sender: string): number {
    sendInTurn(30);
    open(200, sender, [a]);
    return open(30, 'gateway').filter(({ endpoints }) => endpoints[0] === a).length;
  }

  it('take from it about half of the concurrent requests of another sender', () => {
    const got = besideOpen('stranger');
    expect(got).toBeGreaterThanOrEqual(4);
    expect(got).toBeLessThan(10);
  });

  it('would take all of them if the load of all senders counted alike', () => {
    expect(besideOpen('gateway')).toBe(0);
  });
});

describe('reports that an endpoint had nothing of prompts in its cache', () => {
  /** Why the next prompt of a conversation of the gateway gets its endpoint. */
  function pickAfter(sender: string): string | undefined {
    sendInTurn(30);
    const conversation = newPrompt();
    prompt = conversation;
    end(pickFor('gateway', [b]));
    for (let at = 0; at < 200; at += 1) {
      prompt = newPrompt();
      const usage = { prompt_tokens: 2000, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 0 } };
      end(pickFor(sender, [b]), { usage });
    }
    prompt = conversation;
    pickFor('gateway', [a, b]);
    return reasons.at(-1);
  }

  it('leave a conversation of another sender with its endpoint', () => {
    expect(pickAfter('stranger')).toBe('holder');
  });

  it('would lose it if the reports of all senders counted alike', () => {
    expect(pickAfter('gateway')).not.toBe('holder');
  });
});

describe('senders', () => {
  const start = () => createSenders({ createPool: () => createEndpointPool(undefined), isApart: () => false });

  it('beyond the sixteenth replace the one with the fewest recent requests', () => {
    const senders = start();
    for (let at = 0; at < 10; at += 1) senders.asks(0, 'gateway');
    const { view: kept } = senders.asks(0, 'gateway');
    const { view: first } = senders.asks(0, 'stranger 0');
    for (let at = 1; at < 100; at += 1) senders.asks(at, `stranger ${at}`);
    expect(senders.asks(200, 'gateway').view.pool).toBe(kept.pool);
    expect(senders.asks(200, 'stranger 0').view.pool).not.toBe(first.pool);
  });

  it('that send a share of the requests agree where conversations begin, and one alone does not', () => {
    const senders = start();
    for (let at = 0; at < 100; at += 1) senders.asks(at, 'gateway');
    senders.asks(100, 'stranger');
    expect(senders.asks(100, 'gateway').view.isApart()).toBe(false);
    for (let at = 0; at < 20; at += 1) senders.asks(100, 'other gateway');
    expect(senders.asks(100, 'gateway').view.isApart()).toBe(true);
    expect(senders.asks(100, 'other gateway').view.isApart()).toBe(true);
    // After ten minutes.
    expect(senders.asks(600_000, 'gateway').view.isApart()).toBe(false);
  });
});
