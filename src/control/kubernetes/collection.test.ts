import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { AnswerTooLarge, ApiError } from './client.ts';
import type { KubeClient } from './client.ts';
import { followCollection, reportTroubleChanges } from './collection.ts';

interface Watching {
  readonly path: string;
  readonly say: (type: string, name: string, version: number) => void;
  readonly fail: (error?: Error) => void;
}

/** An API server whose every answer and event a test decides. `refusal`: its answer to each watch. */
function begin(lists: readonly (object | Error)[], refusal?: Error) {
  const clock = createFakeClock();
  const asked: URLSearchParams[] = [];
  let left = [...lists];
  const waiting: ((watching: Watching) => void)[] = [];
  const list = (path: string): Promise<unknown> => {
    asked.push(new URL(path, 'http://api').searchParams);
    const [next = new Error('nothing left'), ...rest] = left;
    left = rest;
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  };
  const client: Pick<KubeClient, 'list' | 'watch'> = {
    list,
    watch: (path, { signal, onOpen, onLine }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => resolve());
        if (refusal !== undefined) {
          reject(refusal);
          return;
        }
        onOpen();
        const say: Watching['say'] = (type, name, version) => {
          const metadata = { name, resourceVersion: String(version) };
          try {
            onLine(
              JSON.stringify({ type, object: type === 'ERROR' ? { code: version, message: name } : { metadata } }),
            );
          } catch (error) {
            reject(error);
          }
        };
        const fail = (error?: Error): void => (error === undefined ? resolve() : reject(error));
        for (const tell of waiting.splice(0)) tell({ path, say, fail });
      }),
  };
  let changes = 0;
  const collection = followCollection<string>({
    ...{ client, clock, path: '/things', random: () => 0 },
    read: (raw, known) => {
      const { metadata } = raw as { readonly metadata: { readonly name: string; readonly resourceVersion: string } };
      const before = known.get(metadata.name);
      return { name: metadata.name, item: before ?? metadata.name };
    },
    onChange: () => void (changes += 1),
  });
  const watched = (): Promise<Watching> => new Promise((resolve) => waiting.push(resolve));
  return { clock, collection, asked, watched, names: () => [...collection.items().keys()], changes: () => changes };
}

const listOf = (version: number, names: readonly string[], next?: string) => ({
  metadata: { resourceVersion: String(version), ...(next === undefined ? {} : { continue: next }) },
  items: names.map((name) => ({ metadata: { name, resourceVersion: String(version) } })),
});
/** Runs what waits for resolved promises. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

it('lists in pages and watches from where the list ended', async () => {
  const { collection, asked, watched, names } = begin([listOf(5, ['a'], 'more'), listOf(5, ['b'])]);
  const { path } = await watched();
  expect(names()).toEqual(['a', 'b']);
  expect(asked[1]?.get('continue')).toBe('more');
  expect(path).toMatch(/resourceVersion=5&/);
  expect(path).toContain('allowWatchBookmarks=true');
  expect(collection.trouble()).toBeUndefined();
  await collection.close();
});

it('lists objects that are too large together in smaller pages', async () => {
  const tooLarge = new AnswerTooLarge('too large');
  const lists = [tooLarge, tooLarge, listOf(5, ['a'], 'more'), tooLarge, listOf(5, ['b'])];
  const { collection, asked, watched, names } = begin(lists);
  await watched();
  expect(names()).toEqual(['a', 'b']);
  expect(asked.map((query) => [query.get('limit'), query.get('continue')])).toEqual([
    ['500', null],
    ['63', null],
    ['8', null],
    ['8', 'more'],
    ['1', 'more'],
  ]);
  expect(collection.trouble()).toBeUndefined();
  await collection.close();
});

it('goes on after a watch that ends in time from its last event, a bookmark included', async () => {
  const { clock, collection, asked, watched, names } = begin([listOf(5, ['a'])]);
  const first = await watched();
  first.say('ADDED', 'b', 6);
  first.say('DELETED', 'a', 7);
  first.say('BOOKMARK', '', 20);
  expect(names()).toEqual(['b']);
  clock.advance(300_000);
  const second = watched();
  first.fail();
  expect((await second).path).toMatch(/resourceVersion=20&/);
  expect(collection.trouble()).toBeUndefined();
  expect(asked).toHaveLength(1);
  await collection.close();
});

it('lists anew after a watch that was cut, for the server may have been restored to what it had before', async () => {
  const { clock, collection, asked, watched, names } = begin([listOf(50, ['a', 'b']), listOf(7, ['a'])]);
  const first = await watched();
  clock.advance(2_000);
  const second = watched();
  first.fail(new Error('cut'));
  await settled();
  expect(collection.trouble()).toEqual(new Error('cut'));
  expect(collection.inStepAt()).toBe(clock.now());
  clock.advance(250);
  expect((await second).path).toMatch(/resourceVersion=7&/);
  expect(names()).toEqual(['a']);
  expect(collection.trouble()).toBeUndefined();
  expect(asked).toHaveLength(2);
  await collection.close();
});

it('lists anew after a watch that a server ends early, as it does when it stops', async () => {
  const { clock, collection, watched, names } = begin([listOf(50, ['a', 'b']), listOf(7, ['a'])]);
  const first = await watched();
  clock.advance(200_000);
  const second = watched();
  first.fail();
  expect((await second).path).toMatch(/resourceVersion=7&/);
  expect(names()).toEqual(['a']);
  expect(collection.trouble()).toBeUndefined();
  await collection.close();
});

it.each([3_600_000, -3_600_000])('is behind by as much as passed when the wall clock is set by %d ms', async (jump) => {
  const { clock, collection, watched } = begin([listOf(5, ['a'])]);
  const watching = await watched();
  clock.advance(2_000);
  watching.fail(new Error('cut'));
  await settled();
  clock.advance(100);
  clock.jump(jump);
  expect(clock.now() - (collection.inStepAt() ?? 0)).toBe(100);
  await collection.close();
});

it('is behind since the begin of its last list while no watch opens', async () => {
  const { clock, collection } = begin([listOf(5, ['a']), listOf(6, ['b'])], new Error('away'));
  await settled();
  expect(collection.trouble()).toEqual(new Error('away'));
  clock.advance(100);
  await settled();
  expect(clock.now() - (collection.inStepAt() ?? 0)).toBe(100);
  clock.advance(100);
  await settled();
  expect([...collection.items().keys()]).toEqual(['b']);
  expect(clock.now() - (collection.inStepAt() ?? 0)).toBe(0);
  await collection.close();
});

it.each([
  ['in the watch', (watching: Watching) => watching.say('ERROR', 'too old', 410)],
  ['in place of it', (watching: Watching) => watching.fail(new ApiError(410, { reason: 'Expired', message: '' }))],
])('lists anew when the server has forgotten where it was, told %s', async (_, tell) => {
  const { clock, collection, asked, watched, names } = begin([listOf(5, ['a', 'gone']), listOf(90, ['a', 'new'])]);
  const first = await watched();
  clock.advance(2_000);
  const second = watched();
  tell(first);
  expect((await second).path).toMatch(/resourceVersion=90&/);
  expect(names()).toEqual(['a', 'new']);
  expect(asked).toHaveLength(2);
  await collection.close();
});

it('tells at once that the server is away, and asks ever more seldom', async () => {
  const { clock, collection, asked } = begin([]);
  await settled();
  const askedAt: number[] = [];
  for (let ms = 0; ms < 20_000; ms += 25) {
    const before = asked.length;
    clock.advance(25);
    await settled();
    if (asked.length > before) askedAt.push(clock.elapsed());
  }
  const pauses = askedAt.map((at, index) => at - (askedAt[index - 1] ?? 0));
  // Half of 250 ms, 500 ms, … up to 5 s: the other half is chance.
  expect(pauses.slice(0, 8)).toEqual([125, 250, 500, 1000, 2000, 2500, 2500, 2500]);
  expect(collection.trouble()).toEqual(new Error('nothing left'));
  expect(collection.isListed()).toBe(false);
  expect(collection.inStepAt()).toBeUndefined();
  await collection.close();
});

it('does not tell of an event that changes nothing', async () => {
  const { collection, watched, changes } = begin([listOf(5, ['a'])]);
  const watching = await watched();
  const before = changes();
  watching.say('MODIFIED', 'a', 6);
  watching.say('BOOKMARK', '', 7);
  expect(changes()).toBe(before);
  watching.say('ADDED', 'b', 8);
  expect(changes()).toBe(before + 1);
  await collection.close();
});

it('reports trouble once a try has failed, not while the first connection is being made', async () => {
  const told: unknown[] = [];
  const tell = reportTroubleChanges((troubles) => told.push(troubles), undefined);
  const [ready, away] = [begin([listOf(5, [])]), begin([new Error('away')])];
  const [alone, both] = [
    new Map([['ready', ready.collection]]),
    new Map([
      ['ready', ready.collection],
      ['away', away.collection],
    ]),
  ];
  tell(alone);
  tell(both);
  expect(told).toEqual([]);
  await ready.watched();
  await settled();
  tell(alone);
  tell(both);
  expect(told).toEqual([[], [{ of: 'away', reason: 'away' }]]);
  await ready.collection.close();
  await away.collection.close();
});
