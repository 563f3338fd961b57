import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { http1Caller } from './support/caller.ts';
import { runWeir } from '../support/run-weir.ts';
import { startValkey } from '../support/valkey.ts';
import { canary, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));
const weir = await forFile(startWeir({ engines: [engine], env: { WEIR_TRUSTED_HOPS: '1' } }));

/** The text of a new key in a workspace of its own. */
async function newKey(name: string, workspace: readonly string[] = [], key: readonly string[] = []): Promise<string> {
  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runWeir([...args, '--json', '--data', weir.data]);
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  };
  await run('workspace', 'create', name, '--credit', '10', ...workspace);
  const made = JSON.parse(await run('key', 'create', '--workspace', name, ...key)) as { readonly key: string };
  return made.key;
}

const ask = (directive = '', more: object = {}): object => ({
  ...{ model: 'test/model', messages: [{ role: 'user', content: `${canary} ${directive}` }] },
  ...more,
});
const quick = ask('[[demo {"words": 1}]]', { reasoning_effort: 'none' });
const as = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` });
const numberIn = (answer: Response, name: string): number => Number(answer.headers.get(name) ?? Number.NaN);

interface Step {
  readonly status: number;
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly headers: readonly number[];
  readonly retryAfter: string | null;
}

// A machine that stands still for a second lets the bucket fill: then it is tried again.
test(
  '10 s at 150 requests/s on one key admit 200 + 100·t, and the headers agree with it at every step',
  { retry: 2 },
  async () => {
    const key = await newKey(`steady-${randomUUID()}`);
    await Promise.all(Array.from({ length: 60 }, async () => (await weir.chat(quick)).arrayBuffer()));
    const startedMs = performance.now();
    const step = async (): Promise<Step> => {
      const sentMs = performance.now();
      const answer = await weir.chat(quick, as(key));
      const answeredMs = performance.now();
      await answer.arrayBuffer();
      const headers = ['limit', 'remaining', 'reset'].map((name) => numberIn(answer, `x-ratelimit-${name}-requests`));
      return { status: answer.status, sentMs, answeredMs, headers, retryAfter: answer.headers.get('retry-after') };
    };
    // Some at once, so that a pause of this machine cannot fill the bucket again.
    const asked = Array.from({ length: 120 }, step);
    await new Promise<void>((resolve) => {
      const pace = setInterval(() => {
        const due = ((performance.now() - startedMs) / 1000) * 150;
        while (asked.length < Math.min(due, 1500)) asked.push(step());
        if (asked.length < 1500) return;
        clearInterval(pace);
        resolve();
      }, 2);
    });
    const steps = await Promise.all(asked);
    const admitted = steps.filter(({ status }) => status === 200);
    // A service that is short of processor time sheds requests before it looks at their key.
    const shed = steps.filter(({ status }) => status === 503);
    const counted = steps.filter(({ status }) => status !== 503);
    expect(counted.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
    for (const { status, headers, retryAfter } of counted) {
      const [limit, remaining = 0, reset = 0] = headers;
      expect([limit, retryAfter]).toEqual([100, status === 429 ? '1' : null]);
      if (status === 429) expect(remaining).toBe(0);
      // What is missing is a fraction of a token less than the whole tokens that are.
      expect([Math.ceil((199 - remaining) / 100), Math.ceil((200 - remaining) / 100)]).toContain(reset);
    }
    // The bucket was first asked between the first request and the first answer, and last between those of the last.
    const of = (field: 'sentMs' | 'answeredMs', list: readonly Step[]): readonly number[] =>
      list.map((each) => each[field]);
    const least = 200 + (Math.max(...of('sentMs', admitted)) - Math.min(...of('answeredMs', steps))) / 10;
    const most = 200 + (Math.max(...of('answeredMs', admitted)) - Math.min(...of('sentMs', steps))) / 10;
    if (shed.length === 0) expect(admitted.length).toBeGreaterThanOrEqual(Math.floor(least) - 2);
    expect(admitted.length).toBeLessThanOrEqual(Math.ceil(most) + 2);
    console.log(`admitted ${admitted.length}, by definition ${least.toFixed(1)} to ${most.toFixed(1)}`);
  },
);

test('a workspace has no more requests under way than it may, and every end of one makes room for another', async () => {
  const key = await newKey('narrow', ['--max-in-flight', '2']);
  const caller = http1Caller({ ...weir, key });
  const slow = ask('[[demo {"words": 400, "tokenDelayMs": 50}]]', { stream: true });
  const [first, second] = [caller.open(slow), caller.open(slow)];
  await (await first.answer).until('data: ');
  await (await second.answer).until('data: ');
  const refused = await weir.chat(quick, as(key));
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  // The two that were admitted took a token each, this one none.
  expect(numberIn(refused, 'x-ratelimit-remaining-requests')).toBe(200);
  expect(await refused.json()).toEqual({ error: { type: 'service_error', message: expect.any(String) as string } });
  first.leave();
  await expect.poll(async () => (await weir.chat(quick, as(key))).status).toBe(200);
  for (let request = 0; request < 20; request += 1) expect((await weir.chat(quick, as(key))).status).toBe(200);
  second.leave();
  await weir.settled();
  await caller.close();
});

test('31 requests without a valid key shut their address out for 30 s, valid keys included, and no other address', async () => {
  const from = (address: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    weir.chat(quick, { 'x-forwarded-for': address, ...headers });
  const wrong = { authorization: 'Bearer sk-weir-wrong' };
  const hosts = Array.from({ length: 31 }, (_, host) => `2001:db8:0:1::${(host + 1).toString(16)}`);
  let failedMs = 0;
  for (const host of hosts) {
    failedMs = performance.now();
    expect((await from(host, wrong)).status).toBe(401);
  }
  const refused = await from('2001:db8:0:1::ffff');
  const sinceSeconds = (performance.now() - failedMs) / 1000;
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(29 - sinceSeconds);
  expect(refused.headers.get('x-ratelimit-limit-requests')).toBeNull();
  expect(await refused.json()).toEqual({ error: { type: 'service_error', message: expect.any(String) as string } });
  expect((await from('2001:db8:0:2::1')).status).toBe(200);
  // Whoever makes up the rest of the list is still who the trusted proxy saw.
  expect((await from('203.0.113.1, 2001:db8:0:1::1')).status).toBe(429);
  const models = await weir.fetch(`${weir.baseUrl}/models`, { headers: { 'x-forwarded-for': '2001:db8:0:1::1' } });
  expect(models.status).toBe(200);
  expect(await weir.metric('weir_blocked_addresses')).toBe(1);
});

test('limits in Valkey are shared while it is there; without it requests go on, and it is told', async () => {
  const valkey = await startValkey();
  const shared = await startWeir({ engines: [engine], env: { WEIR_VALKEY_URL: valkey.url } });
  try {
    const isShared = (): Promise<number> => shared.metric('weir_limits_shared');
    await expect.poll(isShared).toBe(1);
    const caller = http1Caller(shared);
    const open = caller.open(ask('[[demo {"words": 400, "tokenDelayMs": 50}]]', { stream: true }));
    await (await open.answer).until('data: ');
    const underWay = async (): Promise<readonly string[]> => {
      const [workspace = ''] = await valkey.ask((client) => client.keys('weir:ws:*'));
      return valkey.ask((client) => client.hkeys(workspace));
    };
    await expect.poll(underWay).toContainEqual(expect.stringMatching(/^n:/));
    open.leave();
    await caller.close();
    await expect.poll(underWay).not.toContainEqual(expect.stringMatching(/^n:/));
    await valkey.kill();
    const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await shared.chat(quick)).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await isShared()).toBe(0);
    await valkey.start();
    await expect.poll(isShared).toBe(1);
    expect((await shared.chat(quick)).status).toBe(200);
    await expect.poll(() => shared.log().match(/Valkey unreachable/g)).toHaveLength(1);
  } finally {
    await shared.close();
    await valkey.close();
  }
});
