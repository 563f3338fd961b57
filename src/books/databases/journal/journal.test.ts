import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDisk } from '../../../../test/simulation/disk.ts';
import { temporaryFolder } from '../../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../../test/support/sample-outcome.ts';
import { thrownBy } from '../../../../test/support/thrown-by.ts';
import { thisMachine } from '../machine.ts';
import { AppendInDoubt, type JournalOptions, journalRecord, openJournal, readRecords } from './journal.ts';

const row = (requestId: string) => sampleOutcome({ requestId, cost: 123_456_789_012_345_678n });
const rows = (...names: readonly string[]) => names.map(row);

function journalIn(folder = temporaryFolder(), options: Partial<JournalOptions> = {}) {
  const journal = openJournal({ folder, maxBytes: 1_000_000, segmentBytes: 2_000, ...options });
  const drain = (): readonly string[] => {
    const names: string[] = [];
    for (let segment = journal.oldest(); segment !== undefined; segment = journal.oldest()) {
      names.push(...segment.rows.map((written) => written.requestId));
      journal.remove(segment);
    }
    return names;
  };
  return { folder, journal, drain };
}

it('keeps no file open when a new file cannot be begun, however often that is tried', () => {
  const { files } = thisMachine;
  const open = new Set<number>();
  let isShort = false;
  const counted: typeof files = {
    ...files,
    openSync: (path, flags, mode) => {
      // The last file goes to the rows, and none is left for their folder.
      if (isShort && flags === 'r') throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
      const file = files.openSync(path, flags, mode);
      open.add(file);
      return file;
    },
    closeSync: (file) => {
      open.delete(file);
      files.closeSync(file);
    },
  };
  const { journal, drain } = journalIn(undefined, { machine: { ...thisMachine, files: counted } });
  isShort = true;
  for (const name of ['a', 'b', 'c']) expect(() => journal.append(rows(name))).toThrow('too many open files');
  expect(open.size).toBe(0);
  isShort = false;
  journal.append(rows('d'));
  expect(drain()).toEqual(['d']);
});

describe('a record', () => {
  it('gives back the row it was made of, absent fields too', () => {
    const {
      routeId: _,
      firstTokenMs: __,
      ...bare
    } = sampleOutcome({ usage: { promptTokens: 0, completionTokens: 0 } });
    const both = [row('a'), bare, sampleOutcome({ kind: 'service-lost' })];
    expect(readRecords(Buffer.concat(both.map(journalRecord))).rows).toEqual(both);
  });

  it('is whole or not there, wherever the file was cut', () => {
    const records = rows('a', 'b', 'c').map(journalRecord);
    const bytes = Buffer.concat(records);
    for (let length = 0; length <= bytes.length; length += 1) {
      const { rows: read, endBytes } = readRecords(bytes.subarray(0, length));
      let [whole, end] = [0, 0];
      for (const record of records) if (end + record.length <= length) [whole, end] = [whole + 1, end + record.length];
      expect([read.length, endBytes]).toEqual([whole, end]);
    }
  });

  it('with any bit turned is not believed, nor what comes after it, and what came before is', () => {
    const records = rows('a', 'b', 'c').map(journalRecord);
    const [first] = records.map((record) => record.length);
    fc.assert(
      fc.property(fc.nat(records[1]!.length * 8 - 1), (bit) => {
        const bytes = Buffer.concat(records);
        const position = first! + (bit >> 3);
        bytes[position] = bytes[position]! ^ (1 << (bit & 7));
        expect(readRecords(bytes)).toMatchObject({ rows: [{ requestId: 'a' }], endBytes: first });
      }),
    );
  });

  it('is not made out of zeros or noise', () => {
    expect(readRecords(Buffer.alloc(4_096)).rows).toEqual([]);
    fc.assert(fc.property(fc.uint8Array(), (noise) => readRecords(Buffer.from(noise)).rows.length === 0));
  });
});

describe('the journal', () => {
  it('gives back all rows in the order in which they came, over many files and a restart', () => {
    const { folder, journal } = journalIn();
    const names = Array.from({ length: 50 }, (_, index) => `r${index}`);
    for (const name of names) journal.append(rows(name));
    expect(readdirSync(folder).length).toBeGreaterThan(5);
    journal.close();
    const later = journalIn(folder);
    expect(later.journal.bytes()).toBe(journal.bytes());
    later.journal.append(rows('last'));
    expect(later.drain()).toEqual([...names, 'last']);
    expect([later.journal.isEmpty(), later.journal.bytes(), readdirSync(folder)]).toEqual([true, 0, []]);
  });

  it('gives a file again until it is removed', () => {
    const { journal, drain } = journalIn();
    journal.append(rows('a', 'b'));
    expect(journal.oldest()?.rows).toHaveLength(2);
    expect(journal.oldest()?.rows).toHaveLength(2);
    journal.append(rows('c'));
    expect(drain()).toEqual(['a', 'b', 'c']);
  });

  it('takes nothing beyond its size, and again when there is room', () => {
    const { journal, drain } = journalIn(undefined, { maxBytes: 1_500 });
    journal.append(rows('a', 'b'));
    expect(() => journal.append(rows('c', 'd', 'e'))).toThrow('full');
    expect(drain()).toEqual(['a', 'b']);
    journal.append(rows('c'));
    expect(drain()).toEqual(['c']);
  });

  it('has a fault while the disk refuses rows, until it takes a trial, of which nothing stays', () => {
    const folder = join(temporaryFolder(), 'journal');
    mkdirSync(folder);
    const { journal, drain } = journalIn(folder);
    rmSync(folder, { recursive: true });
    expect(() => journal.append(rows('a'))).toThrow('ENOENT');
    expect(journal.fault()).toContain('ENOENT');
    journal.tryAgain();
    expect(journal.fault()).toContain('ENOENT');
    mkdirSync(folder);
    journal.tryAgain();
    expect([journal.fault(), readdirSync(folder)]).toEqual([undefined, []]);
    journal.append(rows('b'));
    expect(drain()).toEqual(['b']);
  });

  it('has no fault when it is full: it has a limit of its own', () => {
    const { journal } = journalIn(undefined, { maxBytes: 10 });
    expect(() => journal.append(rows('a'))).toThrow('full');
    expect(journal.fault()).toBeUndefined();
  });

  it('reports a record that was cut off, and never writes behind it', () => {
    const { folder, journal } = journalIn();
    journal.append(rows('a', 'b'));
    journal.close();
    const [name = ''] = readdirSync(folder);
    truncateSync(join(folder, name), readFileSync(join(folder, name)).length - 3);
    const later = journalIn(folder);
    later.journal.append(rows('c'));
    const torn = later.journal.oldest();
    expect(torn).toMatchObject({ rows: [{ requestId: 'a' }], torn: true });
    later.journal.remove(torn!, 'damaged');
    expect(later.drain()).toEqual(['c']);
    expect(readdirSync(folder)).toEqual([name.replace('.journal', '.damaged')]);
  });

  describe('on a disk that takes rows and cannot sync them', () => {
    function refusing() {
      const disk = createDisk();
      disk.files.mkdirSync('/journal');
      const machine = { ...thisMachine, files: disk.files };
      const opened = journalIn('/journal', { machine });
      opened.journal.append(rows('a'));
      disk.setTrouble('cannot-sync');
      const append = () => opened.journal.append(rows('b', 'c'));
      return { ...opened, disk, append, afterCrash: () => journalIn('/journal', { machine }).drain() };
    }

    it('says that the disk may keep the rows that it refused, as it does', () => {
      const { append, afterCrash } = refusing();
      expect(append).toThrow(AppendInDoubt);
      expect(afterCrash()).toEqual(['a']);
      const { disk, append: again, afterCrash: afterPowerCut } = refusing();
      expect(again).toThrow(AppendInDoubt);
      // All writes survive, and no change of a size.
      let draws = 0;
      disk.cutPower(() => ((draws += 1) === 2 ? 1 : 0));
      disk.setTrouble('none');
      expect(afterPowerCut()).toEqual(['a', 'b', 'c']);
    });

    it('does not give them back itself', () => {
      const { journal, append, disk, drain } = refusing();
      expect(append).toThrow(AppendInDoubt);
      disk.setTrouble('none');
      expect(drain()).toEqual(['a']);
      expect([journal.bytes(), journal.isEmpty()]).toEqual([0, true]);
    });

    it('removes them when the disk is well again, before it takes others', () => {
      const { journal, append, disk, afterCrash } = refusing();
      expect(append).toThrow(AppendInDoubt);
      journal.tryAgain();
      expect(journal.fault()).toContain('EIO');
      disk.setTrouble('none');
      journal.tryAgain();
      expect(journal.fault()).toBeUndefined();
      disk.cutPower(() => 0);
      expect(afterCrash()).toEqual(['a']);
    });
  });

  it.each(['fdatasyncSync', 'ftruncateSync'] as const)(
    'never gives back what it refused, where %s fails, too',
    (fails) => {
      const { files } = thisMachine;
      let isBad = false;
      const failing = () => {
        throw new Error('EIO');
      };
      const machine = {
        ...thisMachine,
        files: {
          ...files,
          fdatasyncSync: (file: number) => (isBad ? failing() : files.fdatasyncSync(file)),
          ftruncateSync: (file: number, size?: number) =>
            isBad && fails === 'ftruncateSync' ? failing() : files.ftruncateSync(file, size),
        },
      };
      const { journal, drain } = journalIn(undefined, { machine });
      journal.append(rows('a'));
      isBad = true;
      expect(() => journal.append(rows('b', 'c'))).toThrow(AppendInDoubt);
      isBad = false;
      expect(drain()).toEqual(['a']);
      expect([journal.bytes(), journal.isEmpty()]).toEqual([0, true]);
    },
  );

  it('knows that rows are gone when it could remove them', () => {
    let syncs = 0;
    const fdatasyncSync = (file: number): void => {
      syncs += 1;
      if (syncs === 1) throw new Error('EIO');
      thisMachine.files.fdatasyncSync(file);
    };
    const machine = { ...thisMachine, files: { ...thisMachine.files, fdatasyncSync } };
    const { journal, drain } = journalIn(undefined, { machine });
    const refusal = thrownBy(() => journal.append(rows('a')));
    expect(refusal).toMatchObject({ message: 'EIO' });
    expect(refusal).not.toBeInstanceOf(AppendInDoubt);
    journal.append(rows('b'));
    expect(drain()).toEqual(['b']);
  });

  it('leaves what is not its own alone', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'lock'), '');
    appendFileSync(join(folder, 'notes.damaged'), 'x');
    const { journal } = journalIn(folder);
    expect([journal.isEmpty(), journal.bytes(), journal.oldest()]).toEqual([true, 0, undefined]);
  });
});
