// @suite long
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { http1Caller } from './support/caller.ts';
import { costOf, picoUsd } from './support/cost.ts';
import { type Asking, keepAsking } from './support/keep-asking.ts';
import { putTogether } from './support/put-together.ts';
import { roomyKey } from '../support/roomy-key.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { stuckAfterMs } from '../support/stuck-after.ts';
import { forFile } from '../support/for-file.ts';

/** On a busy machine a second request may go to the other backend, and the requests of each are counted. */
const unhedged = '  hedging: {mode: Disabled}';

/** Of a model that no change concerns, through every one of them. */
let steady: Asking;

const behaviour = { reasoning: 'never', cachedTokens: 4 } as const;
const engines = await forFile(
  Promise.all([
    startProgrammableEngine({ name: 'alpha', behaviour }),
    startProgrammableEngine({ name: 'beta', behaviour }),
  ] as const),
);
const [alpha, beta] = engines;
const weir = await forFile(
  startWeir({
    engines,
    manifests: {
      'steady.yaml': backendManifest('steady', alpha) + modelManifest('test/steady', ['steady']),
      'backends.yaml': backendManifest('first', alpha) + backendManifest('second', beta),
      'changing.yaml': modelManifest('test/changing', ['first', 'second'], unhedged),
    },
  }),
);
const caller = await forFile(http1Caller({ ...weir, key: await roomyKey(weir) }));
beforeEach(() => {
  steady = keepAsking(caller, 'test/steady');
});
afterEach(async () => {
  await steady.more(20);
  await steady.stop();
});

function write(name: string, text: string): void {
  writeFileSync(join(weir.manifests, name), text);
}

async function listed(): Promise<readonly string[]> {
  const { data } = await weir.client().models.list();
  return data.map(({ id }) => id).toSorted();
}
async function untilListed(...ids: readonly string[]): Promise<void> {
  await expect.poll(listed, { interval: 200 }).toEqual([...ids].toSorted());
}

const both = ['test/changing', 'test/steady'] as const;

/** How many of the requests since it was last asked came to each engine for the changing model. */
function cameTo(): readonly number[] {
  const marks = engines.map((engine) => engine.requests().filter(({ body }) => JSON.stringify(body).includes('Who?')));
  return marks.map(({ length }) => length);
}

test('a model that is added is listed and answers', async () => {
  await untilListed(...both);
  write('added.yaml', modelManifest('test/added', ['second']));
  await untilListed(...both, 'test/added');
  const added = keepAsking(caller, 'test/added', 4);
  await added.more(8);
  await added.stop();
});

test('a model that is removed is listed no more, and what runs on it finishes', async () => {
  const body = { model: 'test/added', stream: true, stream_options: { include_usage: true } };
  const messages = [{ role: 'user', content: 'Stay. [[demo {"words": 60, "tokenDelayMs": 30}]]' }];
  const running = await caller.open({ ...body, messages }).answer;
  const release = engines[1].holdPauses();
  rmSync(join(weir.manifests, 'added.yaml'));
  await untilListed(...both);
  const refused = await caller.ask({ ...body, messages });
  expect([refused.status, JSON.parse(refused.text())]).toEqual([
    ...[400, { error: expect.objectContaining({ code: 'model_not_found' }) }],
  ]);
  release();
  expect(await running.ended).toBe('clean');
  expect(putTogether(running.text()).usage).toHaveProperty('cost');
});

test('a model whose date has come is listed no more, though its file is still there', async () => {
  const dated = (leavesAt: number): string =>
    modelManifest('test/dated', ['second'], `  retireAt: "${new Date(leavesAt).toISOString()}"`).replace(
      'metadata: {',
      'metadata: {annotations: {weir.dev/waive-notice: "true"}, ',
    );
  const writtenMs = performance.now();
  write('dated.yaml', dated(Date.now() + 3_600_000));
  await untilListed(...both, 'test/dated');
  // Its file is read long before the date, however slow the machine is.
  const leavesAt = Date.now() + 5_000 + 10 * (performance.now() - writtenMs);
  write('dated.yaml', dated(leavesAt));
  await expect.poll(listed, { interval: 200, timeout: 2 * stuckAfterMs }).toEqual(both.toSorted());
  expect(Date.now()).toBeGreaterThanOrEqual(leavesAt);
  rmSync(join(weir.manifests, 'dated.yaml'));
});

test('a price that changes is billed from then on, and what began before pays the old one', async () => {
  const old = { prompt: 150_000n, cached: 30_000n, completion: 600_000n };
  const dear = { prompt: 1_500_000n, cached: 300_000n, completion: 6_000_000n };
  const dearly = modelManifest('test/changing', ['first', 'second'])
    .replace('prompt: "0.00000015"', 'prompt: "0.0000015"')
    .replace('completion: "0.0000006"', 'completion: "0.000006"')
    .replace('inputCacheRead: "0.00000003"', 'inputCacheRead: "0.0000003"');
  const messages = [{ role: 'user', content: 'Stay. [[demo {"words": 60, "tokenDelayMs": 30}]]' }];
  const asking = keepAsking(caller, 'test/changing');
  await asking.more(20);
  const before = caller.open({
    model: 'test/changing',
    stream: true,
    stream_options: { include_usage: true },
    messages,
  });
  await (await before.answer).until('"content":"');
  write('changing.yaml', dearly);
  const listedPrice = async (): Promise<string | undefined> => {
    const list = await (await weir.fetch(`${weir.baseUrl}/models`)).text();
    return /"test\/changing".*?"prompt":"([^"]+)"/.exec(list)?.[1];
  };
  await expect.poll(listedPrice, { interval: 200 }).toBe('0.0000015');
  const listedAtMs = performance.now();
  await asking.more(60);
  await asking.stop();
  const began = await before.answer;
  await began.ended;
  const rows = new Map((await weir.ledger()).map((row) => [row['id'], row]));
  const rates = asking.answered.map(({ id, usage }) => {
    const row = rows.get(id) ?? {};
    expect(Number(row['cost'])).toBe(usage['cost']);
    return [old, dear].findIndex((prices) => costOf(row, prices) === picoUsd(row['cost']));
  });
  expect(rates.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 0));
  expect(rates).not.toContain(-1);
  // Whatever was asked after the list told the new price.
  const late = rates.filter((_, index) => (asking.answered[index]?.askedAtMs ?? 0) > listedAtMs);
  expect(late.length).toBeGreaterThanOrEqual(40);
  expect(new Set(late)).toEqual(new Set([1]));
  const id = /"id":"([^"]+)"/.exec(began.text())?.[1] ?? '';
  const row = rows.get(id) ?? {};
  expect(picoUsd(row['cost'])).toBe(costOf(row, old));
});

test('weights that change move the requests', async () => {
  const ask = async (): Promise<void> => {
    const answer = await caller.ask({ model: 'test/changing', messages: [{ role: 'user', content: 'Who?' }] });
    expect(answer.status).toBe(200);
  };
  await Promise.all(Array.from({ length: 20 }, ask));
  expect(cameTo()[0]).toBeGreaterThanOrEqual(18);
  write('changing.yaml', modelManifest('test/changing', ['second', 'first'], unhedged));
  await expect.poll(async () => (await ask(), cameTo()[1]), { interval: 50 }).toBeGreaterThan(5);
  const [first = 0] = cameTo();
  await Promise.all(Array.from({ length: 20 }, ask));
  expect((cameTo()[0] ?? 0) - first).toBeLessThanOrEqual(2);
});

test('a backend whose endpoint is replaced under load loses no request', async () => {
  const [alpha, beta] = engines;
  const asking = keepAsking(caller, 'test/changing');
  await asking.more(40);
  const swaps = (): number => weir.log().split('catalog changed').length;
  const before = swaps();
  // `second`, the heavier one by now, was beta: from here on nothing is.
  write('backends.yaml', backendManifest('first', alpha) + backendManifest('second', alpha));
  await expect.poll(swaps).toBeGreaterThan(before);
  await asking.more(40);
  const seen = beta.requests().length;
  await asking.more(40);
  expect(beta.requests().length).toBe(seen);
  await asking.stop();
});

const broken = {
  'no YAML': ['kind: Model\nspec: {id: [\n', /changing\.yaml/, undefined],
  'a wrong field': [
    modelManifest('test/changing', ['first']).replace('"0.0000006"', 'cheap'),
    /changing\.yaml|Model\/test-changing/,
    'spec.pricing.completion',
  ],
} as const;
test.each(Object.entries(broken))(
  'a file with %s is reported by name and field, and the last good one keeps serving',
  async (_, file) => {
    const [text, where, field] = file;
    const asking = keepAsking(caller, 'test/changing', 4);
    await asking.more(4);
    const before = weir.log().length;
    write('changing.yaml', text);
    const problems = () =>
      weir
        .log()
        .slice(before)
        .split('\n')
        .filter((line) => line.includes('manifest problem'))
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    await expect.poll(() => problems().length).toBeGreaterThan(0);
    expect(problems()).toEqual([
      expect.objectContaining({
        where: expect.stringMatching(where),
        message: expect.any(String),
        ...(field === undefined ? {} : { field }),
      }),
    ]);
    await asking.more(20);
    await asking.stop();
    expect(await listed()).toEqual(both);
    write('changing.yaml', modelManifest('test/changing', ['first', 'second']));
  },
);
