/**
 * Requests: `<case>.json` is what a caller sends, `<case>.<engine>.json` what that engine gets. Adding a case is adding
 * a file; `npm run golden:write` writes the rest, to be reviewed.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type EngineName, engineNames } from '../../src/core/catalog.ts';
import { readRequest } from '../../src/dialects/chat/read-request.ts';
import { writeRequest } from '../../src/dialects/chat/write-request.ts';
import { openGoldenFolder } from './golden-files.ts';

const folder = openGoldenFolder('requests');
const rows = folder.cases('.json').flatMap((name) => engineNames.map((engine) => [name, engine] as const));

function written(name: string, engine: EngineName): string {
  const body: unknown = JSON.parse(readFileSync(folder.path(`${name}.json`), 'utf8'));
  return writeRequest(readRequest(body), { engine, upstreamModel: 'Tiny/Upstream-1B' });
}

describe('what engines are asked', () => {
  it.each(rows)('%s for %s', async (name, engine) => {
    const text = `${JSON.stringify(JSON.parse(written(name, engine)), undefined, 1)}\n`;
    await expect(text).toMatchFileSnapshot(folder.path(`${name}.${engine}.json`));
  });

  it.each(rows)('%s for %s names the upstream model, and no end user, unknown key or cache_control', (name, engine) => {
    const text = written(name, engine);
    const body = JSON.parse(text) as Record<string, unknown>;
    expect(body['model']).toBe('Tiny/Upstream-1B');
    expect(text).not.toMatch(/CANARY|cache_control/);
    for (const field of ['user', 'safety_identifier', 'metadata', 'provider', 'transforms', 'prompt_cache_key']) expect(body).not.toHaveProperty(field);
  });

  it.each(rows)('%s for %s carries a replayed trace in one field at most', (name, engine) => {
    const { messages } = JSON.parse(written(name, engine)) as { messages: Record<string, unknown>[] };
    for (const message of messages) expect(Number('reasoning' in message) + Number('reasoning_content' in message)).toBeLessThanOrEqual(1);
  });

  it.each(rows)('%s for %s asks for usage on a stream only, for that is an error elsewhere', (name, engine) => {
    const body = JSON.parse(written(name, engine)) as { stream: boolean };
    expect('stream_options' in body && !body.stream).toBe(false);
  });
});

it('has no golden that no case produces', () => {
  expect(folder.orphans(new Set(rows.map(([name, engine]) => `${name}.${engine}.json`)))).toEqual([]);
});
