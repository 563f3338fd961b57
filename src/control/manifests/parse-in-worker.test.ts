// @suite apart
import { parseDocument } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileManifests } from '../../../test/support/fuzz/hostile-manifests.ts';
import { longestHold, longestHoldMs } from '../../../test/support/loop-delay.ts';
import { startThread } from '../../process/worker-thread.ts';
import { type ManifestParser, startManifestParser } from './parse-in-worker.ts';
import { parseManifest } from './parse.ts';

let parser: ManifestParser;

beforeAll(async () => {
  parser = startManifestParser({ startThread });
  await parser.parse('warm.yaml', 'a: 1');
});
afterAll(() => parser.close());

describe('a manifest that is parsed in a thread of its own', () => {
  it('gives the objects and the problems that it gives here, with the same lines', async () => {
    const text = 'kind: A\nspec:\n  routes:\n  - {backend: x}\n---\n[\n---\n# nothing\n---\nkind: B\n';
    const plain = (entries: Awaited<ReturnType<ManifestParser['parse']>>): unknown =>
      entries.map((entry) =>
        entry.kind === 'object'
          ? { ...entry.object, lineOf: entry.object.lineOf?.(['spec', 'routes', 0, 'backend']) }
          : entry,
      );
    const there = plain(await parser.parse('f.yaml', text));
    expect(there).toEqual(plain(parseManifest('f.yaml', text)));
    expect(there).toMatchObject([
      { where: 'f.yaml#1', lineOf: 4 },
      { kind: 'broken' },
      { where: 'f.yaml#4', lineOf: 10 },
    ]);
  });

  it.each(Object.entries(hostileManifests))(
    'does not hold up the event loop, whatever it holds: %s',
    async (_about, text) => {
      expect(await longestHold(() => parser.parse('f.yaml', text))).toBeLessThan(longestHoldMs);
    },
  );

  it('twin: holds up the event loop where it is parsed there', async () => {
    const parsed = longestHold(() => parseDocument(hostileManifests['100 KB of ['] ?? '', { prettyErrors: false }));
    expect(await parsed).toBeGreaterThan(longestHoldMs);
  });

  it('is read by a new thread after the last one had nothing to do for a while', async () => {
    const script = `import { threadId } from 'node:worker_threads';
      const problem = { where: String(threadId), field: '', message: '' };
      const begin = () => ({ documents: [{ kind: 'broken', problem }], isLast: true });
      export const createFunctions = () => ({ begin });`;
    const module = new URL(`data:text/javascript,${encodeURIComponent(script)}`);
    const restless = startManifestParser({ module, startThread, idleMs: 1 });
    const [first] = await restless.parse('a.yaml', 'a: 1');
    await expect.poll(() => restless.parse('b.yaml', 'a: 1'), { interval: 20 }).not.toEqual([first]);
    await restless.close();
  });

  it('is a problem where its thread dies of it, and the next one is read', async () => {
    const script = `export const createFunctions = () => ({
      begin: (file) => (file === 'bad.yaml' ? process.exit(1) : { documents: [], isLast: true }),
    });`;
    const module = new URL(`data:text/javascript,${encodeURIComponent(script)}`);
    const mortal = startManifestParser({ module, startThread });
    expect(await mortal.parse('bad.yaml', 'a: 1')).toMatchObject([{ kind: 'broken', problem: { where: 'bad.yaml' } }]);
    expect(await mortal.parse('good.yaml', 'a: 1')).toEqual([]);
    await mortal.close();
  });
});
