/**
 * Every answer of every surface is a history that is served: of each golden, the whole answer and the stream, complete or interrupted,
 * goes back as its client keeps it, with results of its calls and a further turn. The engine gets its words, trace, calls and results.
 * test/engine/sent-back.test.ts shows the same to a real engine.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Dialect, type ChatSurface, chatSurfaces } from '../../src/core/dialect.ts';
import type { AnswerEvent, RelayedEvent } from '../../src/core/event.ts';
import { isObject, parseJson } from '../../src/core/json.ts';
import { dialects } from '../../src/gateway/dialects/dialects.ts';
import { openGoldenFolder } from './golden-files.ts';
import { type Kept, keepers, keptOf, prefixes, resultOf, rows, seal, sentToEngine } from './kept-answers.ts';
import type { Json } from './surface-answers.ts';

/** Several messages of one turn become paragraphs, and cited words get their marks. */
const words = (text: string): string => text.replaceAll(/\s+|\[cite:\d+\]/g, '');

function expectServed(surface: ChatSurface, kept: Kept): void {
  const { messages } = sentToEngine(surface, kept);
  const turns = messages.slice(1, -1);
  const said = turns.filter(({ role }) => role === 'assistant');
  expect(messages.at(-1)).toMatchObject({ role: 'user', content: kept.turns.length === 0 ? 'Hi.\n\nGo on.' : 'Go on.' });
  expect(words(said.map(({ content }) => content ?? '').join(''))).toBe(words(kept.text));
  expect(words(said.map(({ reasoning = '' }) => reasoning).join(''))).toBe(words(kept.trace));
  const asked = said.flatMap(({ tool_calls: calls = [] }) => calls).filter(({ function: { name } }) => name !== 'web_search');
  expect(asked.map(({ id, function: { name } }) => [id, name])).toEqual(kept.calls.map(({ id, name }) => [id, name]));
  for (const [at, { function: own }] of asked.entries()) {
    const text = kept.calls[at]?.arguments;
    expect(isObject(parseJson(own.arguments)), own.arguments).toBe(true);
    if (text !== undefined && isObject(parseJson(text))) expect(own.arguments).toBe(text);
  }
  const given = turns.filter(({ tool_call_id: id }) => kept.calls.some((call) => call.id === id));
  expect(given.map(({ content }) => content)).toEqual(kept.calls.map(resultOf));
  // Between a call and its result there is nothing but results.
  for (const [at, { role }] of turns.entries()) if (role === 'tool') expect(['assistant', 'tool']).toContain(turns[at - 1]?.role);
}

describe('an answer that is sent back', () => {
  const seen = { cut: 0, refused: 0, interrupted: 0 };

  it.each(rows)('%s on %s, %s', (file, surface, how, kind) => {
    const { read, streamed, whole } = keptOf([file, surface, how, kind]);
    expectServed(surface, streamed);
    if (whole === undefined) seen.interrupted += 1;
    else expectServed(surface, whole);
    if (streamed.calls.some(({ arguments: text = '{}' }) => !isObject(parseJson(text)))) seen.cut += 1;
    if (read.steps.flat().some(({ type }: AnswerEvent) => type === 'refusal-delta')) seen.refused += 1;
  });

  it('was cut, refused and interrupted, too', () => {
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(5);
  });
});

describe('an answer of the first form of tools, or with searches, that is sent back', () => {
  const folder = openGoldenFolder('surfaces');
  const cases = chatSurfaces.flatMap((surface) => {
    const file = JSON.parse(readFileSync(folder.path(`${surface}-answers.json`), 'utf8')) as Readonly<Record<string, Json & { readonly events?: readonly RelayedEvent[] }>>;
    return Object.entries(file).flatMap(([name, { events = [], calls: _, ...body }]) => {
      const written = events.map((event) => ('id' in event ? { ...event, id: event.id.replace('id_', prefixes[surface]) } : event));
      return written.length === 0 ? [] : [[surface, name, body, written] as const];
    });
  });

  function writtenBy(surface: ChatSurface, body: Json, events: readonly RelayedEvent[]): readonly Kept[] {
    const dialect: Dialect = dialects[surface];
    const good = dialect.surface === 'responses' ? { input: 'Hi.' } : { max_tokens: 100, messages: [{ role: 'user', content: 'Hi.' }] };
    const asked = dialect.readRequest({ model: 'demo/tiny', ...good, ...body }, { seal, traces: seal });
    const identity = { id: `${dialect.idPrefixes.request}1`, created: 1_780_000_000, model: 'demo/tiny' };
    const bill = { usage: { promptTokens: 9, completionTokens: 5 }, cost: 0n };
    const whole = dialect.createJsonWriter(identity, asked, { traces: seal });
    whole.push(events);
    const stream = dialect.createStreamWriter(identity, asked, { traces: seal });
    const { whole: keepWhole, stream: keepStream } = keepers[surface];
    return [keepWhole(JSON.parse(whole.finish(bill)) as Json), keepStream(stream.push(events) + stream.finish(bill))];
  }

  it.each(cases)('%s: %s', (surface, _, body, events) => {
    for (const kept of writtenBy(surface, body, events)) expectServed(surface, kept);
  });
});
