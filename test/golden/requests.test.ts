/**
 * Requests: `<case>.json` is what a caller sends, `<case>.<engine>.json` what that engine gets. Adding a case is adding
 * a file; `npm run golden:write` writes the rest, to be reviewed.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Continuation, continuationMarks } from '../../src/core/capability.ts';
import { type EngineName, chatEngineNames } from '../../src/core/engine-name.ts';
import { errorBody, Failure } from '../../src/core/failure.ts';
import { readRequest } from '../../src/gateway/dialects/chat/read-request.ts';
import { fieldName } from '../../src/gateway/dialects/chat/write-response.ts';
import { writeRequest } from '../../src/gateway/dialects/engine/write-request.ts';
import { capabilitiesOf } from '../../src/gateway/engines/engines.ts';
import { eligibleRoutes } from '../../src/gateway/routing/eligible.ts';
import { modelOf, routeOf } from '../support/route-of.ts';
import { openGoldenFolder } from './golden-files.ts';

const folder = openGoldenFolder('requests');
const rows = folder.cases('.json').flatMap((name) => chatEngineNames.map((engine) => [name, engine] as const));

const reasoning = { mode: 'Optional', efforts: ['low', 'medium', 'high', 'max'] } as const;

/** What the engine gets, or the refusal when it cannot serve the request at all. */
function answered(name: string, engine: EngineName, continuation?: Continuation): string | Failure {
  const request = readRequest(JSON.parse(readFileSync(folder.path(`${name}.json`), 'utf8')));
  const route = routeOf('a');
  const model = modelOf([{ ...route, backend: { ...route.backend, engine } }], { reasoning });
  try {
    const [candidate] = eligibleRoutes(request, model, capabilitiesOf);
    if (candidate === undefined) throw new Error('neither a route nor a refusal');
    return writeRequest(request, { ...candidate.target, continuation });
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** The body an engine gets; undefined when it gets none. */
function bodyOf(name: string, engine: EngineName, continuation?: Continuation): Record<string, unknown> | undefined {
  const text = answered(name, engine, continuation);
  return typeof text === 'string' ? (JSON.parse(text) as Record<string, unknown>) : undefined;
}

describe('what engines are asked', () => {
  it.each(rows)('%s for %s', async (name, engine) => {
    const answer = answered(name, engine);
    const shown = typeof answer === 'string' ? JSON.parse(answer) : { refused: answer.code, message: errorBody(answer, fieldName).message };
    const text = `${JSON.stringify(shown, undefined, 1)}\n`;
    await expect(text).toMatchFileSnapshot(folder.path(`${name}.${engine}.json`));
  });

  it.each(rows)('%s for %s names the upstream model, and no end user, unknown key or cache_control', (name, engine) => {
    const body = bodyOf(name, engine);
    if (body === undefined) return;
    const text = JSON.stringify(body);
    expect(body['model']).toBe('Tiny/Upstream-1B');
    expect(text).not.toMatch(/CANARY|cache_control/);
    for (const field of ['user', 'safety_identifier', 'metadata', 'provider', 'transforms', 'prompt_cache_key']) expect(body).not.toHaveProperty(field);
  });

  it.each(rows)('%s for %s carries a replayed trace in one field at most', (name, engine) => {
    const { messages = [] } = (bodyOf(name, engine) ?? {}) as { messages?: Record<string, unknown>[] };
    for (const message of messages) expect(Number('reasoning' in message) + Number('reasoning_content' in message)).toBeLessThanOrEqual(1);
  });

  it.each(rows)('%s for %s asks for usage on a stream only, for that is an error elsewhere', (name, engine) => {
    const body = bodyOf(name, engine) ?? {};
    expect('stream_options' in body && body['stream'] !== true).toBe(false);
  });
});

/** Fields in which a request to go on may differ from the first one: its end, how many choices, and what is left of the cap. */
const changing = ['messages', 'n', 'continue_final_message', 'add_generation_prompt', 'max_tokens', 'max_completion_tokens'];

const others = (body: Record<string, unknown>): unknown => Object.fromEntries(Object.entries(body).filter(([field]) => !changing.includes(field)));

describe('an engine that goes on with an answer', () => {
  it.each(rows)('is asked the same, and the partial turn behind it: %s for %s', (name, engine) => {
    const first = bodyOf(name, engine);
    if (first === undefined) return;
    for (const mark of continuationMarks) {
      const next = bodyOf(name, engine, { partial: { mark, text: 'Down the river' } }) ?? {};
      expect(others(next), mark).toEqual(others(first));
      const messages = next['messages'] as readonly Record<string, unknown>[];
      expect(messages.slice(0, -1), mark).toEqual(first['messages']);
      expect(messages.at(-1), mark).toMatchObject({ role: 'assistant', content: 'Down the river' });
    }
  });

  it.each(rows)('may have less than the cap, and never more: %s for %s', (name, engine) => {
    const first = bodyOf(name, engine);
    if (first === undefined) return;
    const next = bodyOf(name, engine, { maxOutputTokens: 7 }) ?? {};
    expect(others(next)).toEqual(others(first));
    expect([next['max_tokens'], next['max_completion_tokens']]).toContain(7);
  });
});

it('has no golden that no case produces', () => {
  expect(folder.orphans(new Set(rows.map(([name, engine]) => `${name}.${engine}.json`)))).toEqual([]);
});
