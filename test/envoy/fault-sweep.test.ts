// @suite long
import { join } from 'node:path';
import OpenAI from 'openai';
import { beforeAll, expect, test } from 'vitest';
import { type Played, playPlan } from '../play/play.ts';
import { startPlayedProcesses } from '../play/played-processes.ts';
import type { Call } from '../simulation/caller.ts';
import { makeSweep, shapesOf } from '../simulation/make-sweep.ts';
import { readAnswer } from '../simulation/received-answer.ts';
import { forFile } from '../support/for-file.ts';

// A sample of the sweep that test/simulation/fault-sweep.test.ts plays in virtual time, through Envoy.

const processes = await forFile(startPlayedProcesses(1));
const [data = ''] = processes.gateways.folders;
let played: Played;

beforeAll(async () => {
  const streams = shapesOf('chat').filter(({ stream }) => stream);
  played = await playPlan(makeSweep(streams, { seed: 20_260_801, oneOf: 14, everyMs: 45 }), {
    ...{ ...processes, location: { kind: 'sqlite', file: join(data, 'weir.db') } },
    takeDatabase: () => Promise.reject(new Error('no event of a sweep has the database away')),
  });
});

test('an answer that breaks is delivered as if nothing had happened, or says that it broke', () => {
  const { wrong, seen, rows, told, billed, seconds } = played;
  console.log(`${rows.length} rows in ${seconds.toFixed(0)} s: ${[...seen].flat().join(' ')}`);
  expect(wrong.slice(0, 20), `${wrong.length} in all`).toEqual([]);
  expect(told).toBe(billed);
  // Some engines are ejected, and met by few requests.
  expect(seen.get('several attempts')).toBeGreaterThan(rows.length / 5);
  expect(seen.get('continued')).toBeGreaterThan(rows.length / 40);
  for (const kind of ['completed', 'interrupted', 'failed']) expect(seen.get(kind), kind).toBeGreaterThan(0);
});

/** What the official client's stream helper makes of the bytes that a caller got. */
async function readByClient(call: Call): Promise<unknown> {
  const headers = { 'content-type': 'text/event-stream' };
  const answer = (): Promise<Response> => Promise.resolve(new Response(call.body(), { headers }));
  const client = new OpenAI({ apiKey: 'none', baseURL: 'http://gateway.invalid', fetch: answer });
  const { choices, usage } = await client.chat.completions
    .stream({ model: `demo/${call.event.model}`, messages: [] })
    .finalChatCompletion();
  const read = choices.map(({ message: { content, tool_calls: calls }, finish_reason: finish }) => [
    ...[content ?? '', finish],
    ...(calls ?? []).map((each) => ('function' in each ? each.function.arguments : '')),
  ]);
  return { read, usage };
}

test('the official client’s stream helper notices none of the faults', async () => {
  const streams = played.calls.filter(
    ({ event, status, body }) => event.stream && status() === 200 && readAnswer(event, body(), true).end === 'whole',
  );
  expect(streams.length).toBeGreaterThan(played.rows.length / 4);
  for (const call of streams) {
    const { choices, usage } = readAnswer(call.event, call.body(), true);
    const read = [...choices]
      .toSorted(([one], [other]) => one - other)
      .map(([, { text, finish, calls }]) => [text, finish, ...[...calls.values()].map((each) => each.arguments)]);
    expect(await readByClient(call)).toEqual({ read, usage });
  }
});
