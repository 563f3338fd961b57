/**
 * The tables of docs/reference/messages-types.md beside what is really done, and beside what the format's own library names: a version of it that
 * brings a new block, tool, field or beta fails here until somebody has decided what becomes of that.
 */
import { describe, expect, it } from 'vitest';
import { errorBody, Failure } from '../../src/core/failure.ts';
import type { Request } from '../../src/core/request.ts';
import { dialects } from '../../src/gateway/dialects/dialects.ts';
import { fieldsOf, fileOf, literalsOf, type Row, rowsOf, typesOf, unionOf } from './read-published.ts';

type Json = Readonly<Record<string, unknown>>;

const page = fileOf('../../docs/reference/messages-types.md');
const library = fileOf('../../node_modules/@anthropic-ai/sdk/resources/beta/messages/messages.d.ts');
const betaTypes = fileOf('../../node_modules/@anthropic-ai/sdk/resources/beta/beta.d.ts');

const [blocks, tools, fields, betas] = ['Blocks', 'Tools', 'Fields', 'Betas'].map((heading) => rowsOf(page, heading)) as [readonly Row[], readonly Row[], readonly Row[], readonly Row[]];

describe('the tables of published types', () => {
  it.each<readonly [string, readonly string[], readonly Row[], number]>([
    ['blocks', [...unionOf(library, 'BetaContentBlockParam'), 'BetaToolReferenceBlockParam', 'BetaBrowserStateBlockParam'].flatMap((name) => typesOf(library, name)), blocks, 20],
    ['tools', unionOf(library, 'BetaToolUnion').flatMap((name) => typesOf(library, name)), tools, 25],
    ['fields', fieldsOf(library, 'MessageCreateParamsBase'), fields, 20],
    ['betas', literalsOf(/export type AnthropicBeta = (.+);/.exec(betaTypes)?.[1] ?? ''), betas, 50],
  ])('name all %s of the library', (_, published, rows, atLeast) => {
    expect(published.length).toBeGreaterThan(atLeast);
    const named = new Set(rows.flatMap(({ name }) => [name, ...name.split(' ')]));
    expect(published.filter((name) => !named.has(name))).toEqual([]);
  });

  it('names no beta that the library does not have', () => {
    const published = new Set(literalsOf(/export type AnthropicBeta = (.+);/.exec(betaTypes)?.[1] ?? ''));
    expect(betas.filter(({ name }) => !published.has(name))).toEqual([]);
  });
});

const good = { model: 'demo/tiny', max_tokens: 100, messages: [{ role: 'user', content: 'Hi.' }] };
const goldensOf = (file: string): Readonly<Record<string, Json>> => JSON.parse(fileOf(`./surfaces/${file}.json`)) as Readonly<Record<string, Json>>;

const seal = {
  isOurs: () => false,
  sealSource: () => '',
  openSource: () => ({ number: 3, url: 'https://3.example/', title: 'T3', text: 'Low.' }),
  sealNumber: () => '',
  openNumber: () => 3,
};

/** What a body is read as, or the words of its refusal. */
function outcomeOf(body: Json): Request | string {
  try {
    return dialects.messages.readRequest({ ...good, ...body }, { seal });
  } catch (error) {
    if (error instanceof Failure) return errorBody(error, String).message;
    throw error;
  }
}

/** A value without the blocks of a type, wherever they stand. */
function without(type: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => Object(item)['type'] !== type).map((item) => without(type, item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, without(type, field)]));
}

const treatments = ['taken', 'mapped', 'ignored', 'not acted on', 'refused'];

describe('every block', () => {
  const cases = goldensOf('messages-blocks');

  it.each(blocks.map((row) => [row.name, row] as const))('%s', (name, { treatment, quoted }) => {
    const body = cases[name];
    if (body === undefined) throw new Error(`no case of that name in surfaces/messages-blocks.json`);
    const outcome = outcomeOf(body);
    const [type = ''] = name.split(' ');
    const [words = ''] = quoted;
    expect(treatments).toContain(treatment);
    if (treatment === 'refused') {
      expect(outcome).toMatch(/^messages\[\d+\]\.content\[\d+\][\w.]+: /);
      expect(String(outcome).replace(/^\S+: /, '')).toBe(words);
      return;
    }
    if (typeof outcome === 'string') throw new Error(`refused: ${outcome}`);
    const stripped = outcomeOf(without(type, body) as Json);
    if (treatment === 'ignored') expect(outcome).toEqual(stripped);
    else expect(outcome).not.toEqual(stripped);
    if (treatment === 'mapped') expect(JSON.stringify(outcome.messages)).toContain(JSON.stringify(words).slice(1, -1));
  });
});

describe('every tool', () => {
  const cases = goldensOf('messages-tools');

  it.each(tools.map((row) => [row.name, row] as const))('%s', (name, { treatment, quoted }) => {
    const body = cases[name];
    if (body === undefined) throw new Error(`no case of that name in surfaces/messages-tools.json`);
    const outcome = outcomeOf(body);
    expect(['taken', 'mapped', 'refused']).toContain(treatment);
    if (treatment === 'refused') {
      expect(outcome).toBe(`tools[0].type: ${quoted[0]}`);
      return;
    }
    if (typeof outcome === 'string') throw new Error(`refused: ${outcome}`);
    const [shown] = outcome.tools;
    if (treatment === 'mapped') expect([shown?.name, ...Object.keys(shown?.parameters?.['properties'] ?? {})]).toEqual(quoted);
    else expect(shown?.name).toBe('look');
  });
});

/** A value of each field that means something where the field does. */
const values: Json = {
  ...{ model: 'demo/other', messages: [{ role: 'user', content: 'Ho.' }], max_tokens: 5, system: 'Be kind.', stream: true },
  ...{ temperature: 0.5, top_p: 0.5, top_k: 5, stop_sequences: ['END'], tools: [{ name: 'look', input_schema: {} }] },
  ...{ tool_choice: { type: 'auto', disable_parallel_tool_use: true }, thinking: { type: 'between_tools' }, output_config: { effort: 'low' } },
  output_format: { type: 'json_schema', schema: {} },
  thread: { type: 'create' },
};

describe('every field', () => {
  it.each(fields.map((row) => [row.name, row] as const))('%s', (name, { treatment, quoted }) => {
    const [outcome, usual] = [outcomeOf({ [name]: values[name] ?? { a: 1 } }), outcomeOf({})];
    if (treatment === 'refused') {
      expect(outcome).toBe(`${name}: ${quoted[0]}`);
      return;
    }
    if (typeof outcome === 'string' || typeof usual === 'string') throw new Error(`refused: ${String(outcome)}`);
    expect(['taken', 'ignored', 'not acted on']).toContain(treatment);
    if (treatment === 'taken') expect(outcome).not.toEqual(usual);
    else expect(outcome).toEqual({ ...usual, inert: treatment === 'ignored' ? [] : [name] });
  });
});

describe('every beta', () => {
  const known = new Map([...blocks, ...tools, ...fields].map(({ name, treatment }) => [name, treatment]));

  it.each(betas.map((row) => [row.name, row] as const))('%s is what its block, tool or field is', (_, { treatment, quoted }) => {
    expect(treatments).toContain(treatment);
    const own = quoted.flatMap((name) => known.get(name) ?? []);
    // One that is about nothing here leaves no trace.
    if (own.length === 0) expect(treatment).toBe('ignored');
    else expect(new Set(own)).toEqual(new Set([treatment]));
  });
});
