import { beforeEach, describe, expect, it } from 'vitest';
import type { Endpoint } from '../../core/endpoint.ts';
import type { PickAnswer, PickAsk } from './picker.ts';
import { createAffinity, ownerOf } from '../../gateway/routing/affinity.ts';
import { createEndpointPool, type EndpointPool } from '../../gateway/routing/pool/pool.ts';
import { createEndpointPicker, type EndpointPickerOptions, type RunningPicker } from './endpoint-picker.ts';
import type { ReadPrompt } from './read-prompt.ts';

const endpoint = (address: string, port = 8000): Endpoint => ({
  ...{ name: `${address}:${port}`, address, port, authority: `${address}:${port}`, zone: undefined },
});
const names = ['10.0.0.1:8000', '10.0.0.2:8000', '10.0.0.3:8000'] as const;
const [a, b, c] = names;

let now: number;
let events: string[];
let prompt: ReadPrompt;
let picker: RunningPicker;
let pool: EndpointPool;

/** A prompt whose first blocks are those of every other prompt with this name. */
const promptOf = (name: number, blocks = 10): ReadPrompt => ({
  prompt: {
    digests: Array.from({ length: blocks }, (_, at) => name * 1000 + at),
    ends: Array.from({ length: blocks }, (_, at) => (at + 1) * 500),
    tokens: blocks * 500,
  },
  stream: true,
  conversation: name,
});

function start(options: Partial<EndpointPickerOptions> = {}): RunningPicker {
  const made = createEndpointPicker({
    name: 'ns/qwen',
    createPool: () => (pool = createEndpointPool(undefined)),
    isApart: () => false,
    affinityOf: createAffinity(() => 'ns/qwen'),
    readPrompt: () => prompt,
    retryEndpoints: 0,
    firstTokenMs: undefined,
    clock: { elapsed: () => now },
    random: () => 0.5,
    events: { picked: (why) => events.push(why), refused: (status) => events.push(String(status)) },
    ...options,
  });
  made.setEndpoints(names.map((name) => endpoint(name.split(':')[0] ?? '')));
  return made;
}

beforeEach(() => {
  now = 0;
  events = [];
  prompt = promptOf(1);
  picker = start();
});

function pick(ask: Partial<PickAsk> = {}): PickAnswer {
  const answer = picker.pick({ sender: 'gateway', path: '/', body: undefined, subset: undefined, ...ask });
  if (answer instanceof Promise) throw new Error('it waits');
  return answer;
}

type Answered = PickAnswer & { readonly kind: 'picked' };
function picked(ask: Partial<PickAsk> = {}): Answered {
  const answer = pick(ask);
  if (answer.kind === 'refused') throw new Error(answer.message);
  return answer;
}

interface Course {
  readonly firstMs?: number;
  readonly status?: number;
  readonly served?: string;
  readonly how?: 'complete' | 'broken';
}

const event = (body: object): Uint8Array => new TextEncoder().encode(`data: ${JSON.stringify(body)}\n\n`);

/** Plays an answer, whose first token comes after so long. */
function answer(
  { answer: watch }: Answered,
  { firstMs = 500, status = 200, served, how = 'complete' }: Course = {},
): void {
  now += firstMs;
  const header = (name: string): string | undefined => (name === 'content-type' ? 'text/event-stream' : undefined);
  watch.head({ status, served, header });
  watch.body(event({ choices: [{ delta: { content: 'x' } }] }));
  watch.ended(how);
}

/** Has each endpoint answer once, as fast as the others. */
function measure(firstMs = 500): void {
  for (const [at, name] of names.entries()) {
    prompt = promptOf(100 + at);
    answer(picked({ subset: [name] }), { firstMs });
  }
  prompt = promptOf(1);
}

describe('without an endpoint', () => {
  it.each([
    ['of the pool', undefined, 'Pool ns/qwen has no ready endpoint.'],
    ['of a subset', [a], 'The subset of pool ns/qwen has no ready endpoint.'],
  ])('%s, a request is refused with 503', (_, subset, message) => {
    picker.setEndpoints([]);
    expect(pick({ subset })).toEqual({ kind: 'refused', status: 503, message });
    expect(events).toEqual(['503']);
  });

  it.each([[[]], [['10.9.9.9:8000']], [['10.0.0.1:9']]])(
    'of the pool in the subset %j, it is refused too',
    (subset) => {
      expect(pick({ subset })).toMatchObject({ kind: 'refused', status: 503 });
    },
  );
});

describe('a subset', () => {
  it('is picked from, also where another endpoint holds the prompt', () => {
    measure();
    answer(picked({ subset: [a] }));
    expect(picked().endpoints).toEqual([a]);
    expect(picked({ subset: ['10.9.9.9:1', b] }).endpoints).toEqual([b]);
  });

  it('may name an address, which stands for all of its ports', () => {
    picker.setEndpoints([endpoint('10.0.0.1', 1), endpoint('10.0.0.2', 1), endpoint('10.0.0.2', 2)]);
    const found = new Set(Array.from({ length: 4 }, () => picked({ subset: ['10.0.0.2'] }).endpoints[0]));
    expect([...found].every((name) => name?.startsWith('10.0.0.2:'))).toBe(true);
  });
});

describe('a conversation', () => {
  it('stays with the endpoint that holds it', () => {
    measure();
    answer(picked({ subset: [b] }));
    prompt = promptOf(1, 14);
    expect(picked().endpoints).toEqual([b]);
    expect(events.at(-1)).toBe('holder');
  });

  it('leaves an endpoint that has much to do', () => {
    measure();
    answer(picked({ subset: [b] }));
    // Ten long prompts, whose first tokens do not come.
    for (let other = 0; other < 10; other += 1) {
      prompt = promptOf(200 + other, 20);
      picked({ subset: [b] });
    }
    prompt = promptOf(1);
    expect(picked().endpoints).not.toEqual([b]);
    expect(events.at(-1)).toBe('sooner');
  });

  it('begins where all pickers of the pool expect it, if there are several', () => {
    const affinity = createAffinity(() => 'ns/qwen');
    for (let conversation = 1; conversation < 20; conversation += 1) {
      prompt = promptOf(conversation);
      const owner = ownerOf(
        affinity(conversation) ?? '',
        names.map((name) => ({ name })),
      );
      // Each of them has just been started.
      picker = start({ isApart: () => true });
      expect(picked().endpoints).toEqual([owner?.name]);
    }
  });

  it('is forgotten with its endpoint', () => {
    measure();
    answer(picked({ subset: [b] }));
    picker.setEndpoints([endpoint('10.0.0.1')]);
    picker.setEndpoints(names.map((name) => endpoint(name.split(':')[0] ?? '')));
    picked();
    expect(events.at(-1)).not.toBe('holder');
  });
});

describe('endpoints in reserve', () => {
  it('are named after the picked one, as many as are wanted and there are', () => {
    for (const [retryEndpoints, count] of [
      [0, 1],
      [1, 2],
      [7, 3],
    ] as const) {
      picker = start({ retryEndpoints });
      const { endpoints } = picked();
      expect([endpoints.length, new Set(endpoints).size]).toEqual([count, count]);
    }
  });

  it('are in the subset', () => {
    picker = start({ retryEndpoints: 2 });
    expect(picked({ subset: [c, a] }).endpoints.toSorted()).toEqual([a, c]);
  });

  it('hold the prompt when one of them has served it', () => {
    picker = start({ retryEndpoints: 2 });
    measure();
    const first = picked({ subset: [a, b] });
    const [failed, served = ''] = first.endpoints;
    answer(first, { served });
    expect(picked().endpoints[0]).toBe(served);
    expect(failed).not.toBe(served);
  });
});

it('a retry shows nothing of the speed of the endpoint that has served it', () => {
  picker = start({ retryEndpoints: 2, random: () => 0 });
  measure();
  const known = (): readonly (number | undefined)[] =>
    names.map(
      (name) => pool.firstTokenWait(now, { prompt: promptOf(500).prompt, among: [{ name, success: 1 }] })?.aloneMs,
    );
  const before = known();
  for (let at = 0; at < 5; at += 1) {
    prompt = promptOf(400 + at);
    const retried = picked();
    const [, served = ''] = retried.endpoints;
    // The picked endpoint has failed after a minute. The other one began then.
    answer(retried, { firstMs: 60_000, served });
  }
  expect(known()).toEqual(before);
});

describe('an endpoint whose answers', () => {
  const shareOf = (name: string, count = 60): number => {
    let found = 0;
    for (let at = 0; at < count; at += 1) {
      prompt = promptOf(1000 + at);
      const answered = picked();
      if (answered.endpoints[0] === name) found += 1;
      answer(answered);
    }
    return found / count;
  };

  it.each([500, 503, 429])('have status %i gets fewer requests', (status) => {
    const turns = Array.from({ length: 400 }, (_, at) => (at * 0.618) % 1);
    let turn = 0;
    picker = start({ random: () => turns[(turn += 1) % turns.length] ?? 0 });
    measure();
    for (let at = 0; at < 6; at += 1) answer(picked({ subset: [c] }), { status, firstMs: 5 });
    expect(shareOf(c)).toBeLessThan(0.2);
  });

  it('have status 404 counts as neither good nor bad, and the prompt as not held', () => {
    measure();
    answer(picked({ subset: [c] }), { status: 404 });
    picked();
    expect(events.at(-1)).not.toBe('holder');
  });

  it('are broken off before output does not count as a holder', () => {
    measure();
    const { answer: watch } = picked({ subset: [c] });
    watch.ended('broken');
    picked();
    expect(events.at(-1)).not.toBe('holder');
  });
});

describe('an objective for the first token', () => {
  beforeEach(() => {
    picker = start({ firstTokenMs: 2_000, random: () => 0 });
  });

  it('refuses with 429 what would wait longer at every endpoint', () => {
    measure();
    const open: Answered[] = [];
    let last: PickAnswer;
    for (;;) {
      prompt = promptOf(300 + open.length);
      last = pick();
      if (last.kind === 'refused') break;
      open.push(last);
    }
    const message = 'No endpoint of ns/qwen would answer in time right now.';
    expect(last).toEqual({ kind: 'refused', status: 429, message });
    // 500 ms for each prompt at three endpoints, until one more would wait for longer than 2 s.
    expect(open.length).toBeGreaterThanOrEqual(9);
    expect(open.length).toBeLessThanOrEqual(15);
    for (const one of open) answer(one, { firstMs: 0 });
    expect(pick().kind).toBe('picked');
  });

  it('lets everything pass while an endpoint has not answered yet', () => {
    for (let round = 0; round < 50; round += 1) {
      prompt = promptOf(300 + round, 40);
      expect(pick().kind).toBe('picked');
    }
  });
});
