import { describe, expect, it } from 'vitest';
import { model } from '../../../test/support/catalog-objects.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import type { CatalogObject } from '../../core/catalog.ts';
import type { CatalogReading } from './follow-catalog.ts';
import { type Announcements, openManifestCatalog } from './manifest-catalog.ts';

const day = 24 * 60 * 60 * 1000;
const start = Date.UTC(2026, 6, 1);
const inDays = (days: number): string => new Date(start + days * day).toISOString();

const leaving = (name: string, days: number): CatalogObject =>
  model(name, { id: `test/${name}`, retireAt: inDays(days) });
const staying = model('stays', { id: 'test/stays' });

/** Follows a folder that holds these at first; `restart` begins anew with what is remembered. */
function folderOf(...objects: readonly CatalogObject[]) {
  const clock = createFakeClock(start);
  const served: (readonly string[])[] = [];
  const announced: string[] = [];
  const errors: unknown[] = [];
  let kept: Announcements = new Map();
  let save = (announcements: Announcements): Promise<void> => {
    kept = announcements;
    return Promise.resolve();
  };
  let change: (reading: CatalogReading) => void = () => undefined;
  let first = objects;
  const note = (reading: CatalogReading): void => {
    served.push(reading.objects.map(({ where }) => where.replace('Model/', '')));
  };
  async function open() {
    const folder = await openManifestCatalog({
      ...{ clock, onChange: note, onError: (error) => errors.push(error) },
      open: (onChange) => {
        change = onChange;
        return Promise.resolve({ first: { objects: first, problems: [] }, close: () => Promise.resolve() });
      },
      announcements: { load: () => Promise.resolve(kept), save: (announcements) => save(announcements) },
      onAnnounced: (name, { leavesAt }) => announced.push(`${name} on day ${(leavesAt - start) / day}`),
    });
    note(folder.first);
    return folder;
  }
  return {
    ...{ clock, served, announced, errors, open },
    write: (...now: readonly CatalogObject[]) => {
      first = now;
      change({ objects: now, problems: [] });
    },
    failToSave: () => {
      save = () => Promise.reject(new Error('the disk is full'));
    },
  };
}

describe('a folder of manifests', () => {
  it('serves a model until its date, and no longer', async () => {
    const folder = folderOf(staying, leaving('goes', 20));
    const { close } = await folder.open();
    folder.clock.advance(20 * day - 1);
    expect(folder.served).toEqual([['stays', 'goes']]);
    folder.clock.advance(1);
    expect(folder.served).toEqual([['stays', 'goes'], ['stays']]);
    expect(folder.announced).toEqual(['goes on day 20']);
    await close();
    expect(folder.clock.armed()).toBe(0);
  });

  it('gives fourteen days’ notice from when a date was first seen, over a restart too', async () => {
    const folder = folderOf(leaving('goes', 3));
    await (await folder.open()).close();
    folder.clock.advance(10 * day);
    const { close } = await folder.open();
    folder.clock.advance(4 * day - 1);
    expect(folder.served.at(-1)).toEqual(['goes']);
    folder.clock.advance(1);
    expect(folder.served.at(-1)).toEqual([]);
    expect(folder.announced).toEqual(['goes on day 14']);
    await close();
    // It has left, and does not come back with another restart.
    await (await folder.open()).close();
    expect(folder.served.at(-1)).toEqual([]);
  });

  it('says each new date once, and forgets one that is taken back', async () => {
    const folder = folderOf(leaving('goes', 30));
    const { close } = await folder.open();
    folder.write(leaving('goes', 40), staying);
    folder.write(leaving('goes', 40));
    folder.write(model('goes', { id: 'test/goes' }));
    folder.clock.advance(60 * day);
    expect(folder.served.at(-1)).toEqual(['goes']);
    folder.write(leaving('goes', 61));
    expect(folder.announced).toEqual(['goes on day 30', 'goes on day 40', 'goes on day 74']);
    await close();
  });

  it('leaves to the day where the notice is waived, and lets only models leave', async () => {
    const { value, ...rest } = leaving('goes', 2);
    const metadata = { name: 'goes', annotations: { 'weir.dev/waive-notice': 'true' } };
    const waived = { ...rest, value: { ...(value as object), metadata } };
    const backend = { ...rest, where: 'backend', value: { ...(value as object), kind: 'Backend' } };
    const folder = folderOf(waived, backend);
    const { close } = await folder.open();
    folder.clock.advance(100 * day);
    expect(folder.served).toEqual([['goes', 'backend'], ['backend']]);
    await close();
  });

  it('goes on when what was announced cannot be written', async () => {
    const folder = folderOf(leaving('goes', 3));
    folder.failToSave();
    const { close } = await folder.open();
    folder.clock.advance(14 * day);
    await close();
    expect(folder.served).toEqual([['goes'], []]);
    expect(folder.errors).toEqual([new Error('the disk is full')]);
  });
});
