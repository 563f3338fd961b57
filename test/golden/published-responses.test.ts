/**
 * The tables of docs/reference/responses.md beside what is really done, and beside what the format's own library names: a version of it that
 * brings a new item, tool, field or event fails here until somebody has decided what becomes of that.
 */
import { describe, expect, it } from 'vitest';
import { errorBody, Failure } from '../../src/core/failure.ts';
import type { Request } from '../../src/core/request.ts';
import { dialects } from '../../src/gateway/dialects/dialects.ts';
import { fieldsOf, fileOf, literalsOf, type Row, rowsOf, typesOf, unionOf } from './read-published.ts';

type Json = Readonly<Record<string, unknown>>;

const page = fileOf('../../docs/reference/responses.md');
const library = fileOf('../../node_modules/openai/resources/responses/responses.d.ts');

const [items, tools, fields, included, events] = ['Items', 'Tools', 'Fields', 'Included parts', 'Events'].map((heading) =>
  rowsOf(page, heading),
) as [readonly Row[], readonly Row[], readonly Row[], readonly Row[], readonly Row[]];

const typesIn = (union: string): readonly string[] => unionOf(library, union).flatMap((name) => typesOf(library, name));
const [, includable = ''] = /^export type ResponseIncludable = (.+);$/m.exec(library) ?? [];

describe('the tables of published types', () => {
  it.each<readonly [string, readonly string[], readonly Row[], number]>([
    ['items', typesIn('ResponseInputItem'), items, 25],
    ['tools', typesIn('Tool'), tools, 15],
    ['fields', fieldsOf(library, 'ResponseCreateParamsBase'), fields, 25],
    ['included parts', literalsOf(includable), included, 7],
    ['events', typesIn('ResponseStreamEvent'), events, 50],
  ])('name all %s of the library', (_, published, rows, atLeast) => {
    expect(published.length).toBeGreaterThan(atLeast);
    const named = new Set(rows.flatMap(({ name }) => [name, ...name.split(' ')]));
    expect(published.filter((name) => !named.has(name))).toEqual([]);
  });
});

const good = { model: 'demo/tiny', input: 'Hi.' };
const goldensOf = (file: string): Readonly<Record<string, Json>> => JSON.parse(fileOf(`./surfaces/${file}.json`)) as Readonly<Record<string, Json>>;

const seal = {
  isOurs: () => false,
  sealSource: () => '',
  openSource: (token: string) => (token === 'source 3' ? { number: 3, url: 'https://3.example/', title: 'T3', text: 'Low.' } : undefined),
  sealNumber: () => '',
  openNumber: (token: string) => (token === 'number 3' ? 3 : undefined),
  sealTrace: () => '',
  openTrace: (token: string) => (token.startsWith('trace ') ? token.slice(6) : undefined),
};

/** What a body is read as, or the words of its refusal. */
function outcomeOf(body: Json): Request | string {
  try {
    return dialects.responses.readRequest({ ...good, ...body }, { seal, traces: seal });
  } catch (error) {
    if (error instanceof Failure) return errorBody(error, String).message;
    throw error;
  }
}

/** A body's input without the items of a type. An item without a type is a message. */
function without(type: string, { input }: Json): Json {
  const rest = (input as readonly Json[]).filter((item) => (item['type'] ?? 'message') !== type);
  return { input: rest.length === 0 ? [{ role: 'user', content: 'Go on.' }] : rest };
}

describe('every item', () => {
  const cases = goldensOf('responses-items');

  it.each(items.map((row) => [row.name, row] as const))('%s', (name, { treatment, quoted }) => {
    const body = cases[name];
    if (body === undefined) throw new Error(`no case of that name in surfaces/responses-items.json`);
    const outcome = outcomeOf(body);
    const [type = ''] = name.split(' ');
    const [words = ''] = quoted;
    expect(['taken', 'mapped', 'ignored', 'refused']).toContain(treatment);
    if (treatment === 'refused') {
      expect(outcome).toMatch(/^input\[1\][\w.[\]]+: /);
      expect(String(outcome).replace(/^\S+: /, '')).toBe(words);
      return;
    }
    if (typeof outcome === 'string') throw new Error(`refused: ${outcome}`);
    const stripped = outcomeOf(without(type, body));
    if (treatment === 'ignored') expect(outcome).toEqual(stripped);
    else expect(outcome).not.toEqual(stripped);
    if (treatment === 'mapped') expect(JSON.stringify(outcome)).toContain(JSON.stringify(words).slice(1, -1));
  });
});

describe('every tool', () => {
  const cases = goldensOf('responses-tools');

  it.each(tools.map((row) => [row.name, row] as const))('%s', (name, { treatment, quoted }) => {
    const body = cases[name];
    if (body === undefined) throw new Error(`no case of that name in surfaces/responses-tools.json`);
    const outcome = outcomeOf(body);
    expect(['taken', 'mapped', 'not acted on', 'refused']).toContain(treatment);
    if (treatment === 'refused') {
      expect(outcome).toBe(`tools[0].type: ${quoted[0]}`);
      return;
    }
    if (typeof outcome === 'string') throw new Error(`refused: ${outcome}`);
    const [shown] = outcome.tools;
    if (treatment === 'not acted on') expect([outcome.tools, outcome.inert]).toEqual([[], [quoted[1]]]);
    else if (treatment === 'mapped') expect([shown?.name, ...Object.keys(shown?.parameters?.['properties'] ?? {})]).toEqual(quoted);
    else expect(shown?.name).toBe('look');
  });
});

const look = { type: 'function', name: 'look', parameters: {} };

/** A value of each field that means something where the field does, with what it needs. */
const values: Readonly<Record<string, Json>> = {
  model: { model: 'demo/other' },
  input: { input: 'Ho.' },
  instructions: { instructions: 'Be kind.' },
  stream: { stream: true },
  max_output_tokens: { max_output_tokens: 5 },
  max_tool_calls: { tools: [{ type: 'web_search' }], max_tool_calls: 1 },
  temperature: { temperature: 0.5 },
  top_p: { top_p: 0.5 },
  top_logprobs: { top_logprobs: 2 },
  parallel_tool_calls: { parallel_tool_calls: false },
  tools: { tools: [look] },
  tool_choice: { tools: [look], tool_choice: 'required' },
  reasoning: { reasoning: { effort: 'low' } },
  text: { text: { format: { type: 'json_object' } } },
  include: { include: ['reasoning.encrypted_content'] },
  store: { store: true },
  truncation: { truncation: 'auto' },
  background: { background: true },
};

describe('every field', () => {
  it.each(fields.map((row) => [row.name, row] as const))('%s', (name, { treatment, quoted }) => {
    const body = values[name] ?? { [name]: { a: 1 } };
    const { [name]: _, ...rest } = body;
    const [outcome, usual] = [outcomeOf(body), outcomeOf(rest)];
    if (typeof usual === 'string') throw new Error(`refused: ${usual}`);
    expect(['taken', 'ignored', 'not acted on', 'refused']).toContain(treatment);
    if (treatment === 'refused') expect(outcome).toBe(`${name}: ${quoted[0]}`);
    else if (treatment === 'taken') expect(outcome).not.toEqual(usual);
    else expect(outcome).toEqual({ ...usual, inert: treatment === 'ignored' ? [] : [name] });
  });
});

describe('every part that can be included', () => {
  it.each(included.map((row) => [row.name, row] as const))('%s', (name, { treatment }) => {
    const [outcome, usual] = [outcomeOf({ include: [name] }), outcomeOf({})];
    expect(['taken', 'ignored']).toContain(treatment);
    if (treatment === 'taken') expect(outcome).not.toEqual(usual);
    else expect(outcome).toEqual(usual);
  });
});

describe('every event', () => {
  /** Everything that a caller gets in the cases of surfaces/, and the end of an answer that broke off. */
  const interrupted = dialects.responses.createStreamWriter({ id: 'resp_1', created: 1, model: 'demo/tiny' }, { includeUsage: true, sampling: {} });
  const written = [
    ...['responses-answers', 'responses-tools'].map((file) => fileOf(`./surfaces/${file}.out.json`)),
    interrupted.fail(new Failure('stream_interrupted', 'It broke off.')),
  ].join('\n');
  const seen = new Set([...written.matchAll(/"type":"((?:response\.[\w.]+)|error)"/g)].map(([, type = '']) => type));

  it('is seen in the goldens if it is said to be sent, and in none if not', () => {
    const sent = events.flatMap(({ name, treatment }) => (treatment === 'sent' ? [name] : []));
    expect(new Set(sent)).toEqual(seen);
    expect(new Set(events.map(({ treatment }) => treatment))).toEqual(new Set(['sent', 'never sent']));
  });
});
