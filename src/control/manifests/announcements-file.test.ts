import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createAnnouncementsFile } from './announcements-file.ts';

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'weir-announcements-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  return dir;
}

it('remembers over a restart what was announced, and what no longer is', async () => {
  const dir = folder();
  const file = join(dir, 'announcements.json');
  const announcements = new Map([
    ['one', { announcedAt: 1, announcedFor: 2 }],
    ['two', { announcedAt: 3 }],
  ]);
  expect(await createAnnouncementsFile(file).load()).toEqual(new Map());
  await createAnnouncementsFile(file).save(announcements);
  expect(await createAnnouncementsFile(file).load()).toEqual(announcements);
  await createAnnouncementsFile(file).save(new Map());
  expect(await createAnnouncementsFile(file).load()).toEqual(new Map());
  expect(readdirSync(dir)).toEqual(['announcements.json']);
});

it.each(['', '{', '[]', '{"version":2,"models":[]}', '{"version":1,"models":[{"name":"a"}]}'])(
  'knows of nothing when the file says %j',
  async (text) => {
    const file = join(folder(), 'announcements.json');
    writeFileSync(file, text);
    expect(await createAnnouncementsFile(file).load()).toEqual(new Map());
  },
);
