import { beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import { thrownBy } from '../../../test/support/thrown-by.ts';
import type { Failure } from '../../core/failure.ts';
import { uploadLimits } from './body-charges.ts';
import { checkDeclaredSize, createUploads, maxBodyBytes, type UploadLedger } from './uploads.ts';

const check = (length: string | undefined): void =>
  checkDeclaredSize({ header: (name) => (name === 'content-length' ? length : undefined) });

it('a body of 32 MiB may be declared, one byte more may not (docs/reference/endpoints.md §4.1.3)', () => {
  expect(maxBodyBytes).toBe(32 * 1024 * 1024);
  expect(() => check('33554432')).not.toThrow();
  expect(() => check('33554433')).toThrow(expect.objectContaining({ code: 'body_too_large' }) as Error);
});

it.each([undefined, '', 'many', '0'])('a length of %j is left to be counted', (length) => {
  expect(() => check(length)).not.toThrow();
});

const KiB = 1024;
const MiB = 1024 * KiB;
const limits = { workspaceBytes: 16 * MiB, addressBytes: 24 * MiB, totalBytes: 32 * MiB };
const headers = [['x-ratelimit-limit-requests', '100']] as const;

let clock: FakeClock;
let uploads: UploadLedger;

beforeEach(() => {
  clock = createFakeClock();
  uploads = createUploads({ clock, limits });
});

/** An account of as much memory as has arrived. */
function open(workspaceId = 'w', address: string | null = '203.0.113.1', declaredBytes = 0) {
  const upload = uploads.open({ workspaceId, address: address ?? undefined }, { headers, declaredBytes });
  return { ...upload, hold: (bytes: number) => upload.hold(bytes, bytes) };
}

/** An upload that has brought so many bytes and waits for more, with what it ends with. */
function arriving(bytes: number, workspaceId?: string, address?: string) {
  const upload = open(workspaceId, address);
  const ended: Failure[] = [];
  upload.begin({ read: () => undefined, expire: (failure) => ended.push(failure) });
  upload.hold(bytes);
  return { ...upload, ended };
}

const tooMany = (who: string): object =>
  expect.objectContaining({
    ...{ code: 'rate_limited', retryAfterSeconds: 1, headers, limit: `upload-${who}` },
    message: expect.stringContaining(`This ${who} `) as string,
  }) as object;

describe('the memory of uploads', () => {
  it('is charged by what has arrived, in steps of 64 KiB, and given back once', () => {
    const upload = open();
    expect(uploads.bytes()).toBe(64 * KiB);
    upload.hold(1);
    expect(uploads.bytes()).toBe(64 * KiB);
    upload.hold(64 * KiB + 1);
    expect(uploads.bytes()).toBe(128 * KiB);
    upload.complete();
    expect(uploads.bytes()).toBe(128 * KiB);
    upload.close();
    upload.close();
    expect(uploads.bytes()).toBe(0);
    upload.hold(10 * MiB);
    expect(uploads.bytes()).toBe(0);
  });

  it('is what a body takes of it, where that is more than has arrived', () => {
    const owner = { workspaceId: 'w', address: undefined };
    uploads.open(owner, { headers, declaredBytes: 0 }).hold(MiB + 1, 2 * MiB);
    expect(uploads.bytes()).toBe(2 * MiB);
  });

  it.each([
    ['of one step is part of an open request', 64 * KiB, 64 * KiB, 0],
    ['is charged until its request ends', MiB, MiB, MiB],
    ['is charged for what it is when it was decoded, and not for its window', 18 * MiB, 200 * KiB, 256 * KiB],
    ['is charged for what the service has added to it', 100 * KiB, 200 * KiB, 256 * KiB],
  ])('of a body that was read %s', (_, arrived, read, charged) => {
    uploads = createUploads({ clock, limits: uploadLimits(256 * MiB) });
    const upload = open();
    upload.hold(arrived);
    expect(upload.read(read)).toBe(charged > 0);
    expect(uploads.bytes()).toBe(charged);
    upload.close();
    expect(upload.read(read)).toBe(false);
    expect(uploads.bytes()).toBe(0);
  });

  it.each(['workspace', 'address', 'total'])(
    'is refused by its declared size, before any of it is held, where bodies that were read fill the %s',
    (bound) => {
      const room = { workspaceBytes: 32 * MiB, addressBytes: 32 * MiB, totalBytes: 32 * MiB };
      uploads = createUploads({ clock, limits: { ...room, [`${bound}Bytes`]: 16 * MiB } });
      const kept = open();
      kept.hold(10 * MiB);
      kept.read(10 * MiB);
      expect(thrownBy(() => open('w', '203.0.113.1', 5 * MiB))).toMatchObject({ limit: `upload-${bound}` });
      expect(uploads.bytes()).toBe(10 * MiB);
      // What fits, and what need not arrive, is not charged.
      open('w', '203.0.113.1', 4 * MiB);
      open('w', '203.0.113.1', NaN);
      expect(uploads.bytes()).toBe(10 * MiB + 2 * 64 * KiB);
      // A neighbour with a short prompt.
      open('w', '203.0.113.1', 20 * KiB).hold(20 * KiB);
      kept.close();
      open('w', '203.0.113.1', 5 * MiB);
    },
  );

  it('of 130 uploads with a byte each is 8 MiB, and another workspace’s large one passes beside them', () => {
    for (let count = 0; count < 130; count += 1) arriving(1, 'stranger', '203.0.113.9');
    expect([uploads.arriving(), uploads.bytes()]).toEqual([130, (130 * MiB) / 16]);
    open('other', '203.0.113.2').hold(8 * MiB);
  });

  it('is bounded per workspace, whatever its addresses: 429, and the bytes of others stay theirs', () => {
    open('w', '203.0.113.1').hold(7 * MiB);
    const second = open('w', '203.0.113.2');
    second.hold(7 * MiB);
    expect(thrownBy(() => second.hold(7 * MiB + 1))).toEqual(tooMany('workspace'));
    expect(uploads.bytes()).toBe(14 * MiB);
    open('other').hold(7 * MiB);
    second.close();
    open('w').hold(7 * MiB);
  });

  it('is bounded per address, a /64 of IPv6 being one, whatever its workspaces: 429', () => {
    open('a', '2001:db8::1').hold(14 * MiB);
    const second = open('b', '2001:db8::2');
    second.hold(7 * MiB);
    expect(thrownBy(() => second.hold(8 * MiB))).toEqual(tooMany('address'));
    open('b', '2001:db8:0:1::2').hold(6 * MiB);
  });

  it('is bounded in total: 503 without a wait', () => {
    open('a', 'x').hold(14 * MiB);
    open('b', 'y').hold(13 * MiB);
    const third = open('c', 'z');
    expect(thrownBy(() => third.hold(2 * MiB))).toMatchObject({
      ...{ code: 'overloaded', retryAfterSeconds: undefined, limit: 'upload-total' },
    });
  });

  it('leaves an eighth of each bound to small bodies, and is full when that is gone', () => {
    open('a', 'x').hold(14 * MiB);
    open('b', 'y').hold(14 * MiB);
    for (const workspace of ['a', 'b']) open(workspace, 'x').hold(20 * KiB);
    expect(uploads.isFull()).toBe(false);
    for (let room = 62; room > 0; room -= 1) open(`w${room}`);
    expect(uploads.isFull()).toBe(true);
    expect(thrownBy(() => open('c', 'z'))).toMatchObject({ code: 'overloaded' });
  });

  it('without an address is held against workspace and total alone', () => {
    for (const workspace of ['a', 'b']) open(workspace, null).hold(14 * MiB);
    expect(uploads.bytes()).toBe(28 * MiB);
  });
});

describe('the bounds of a process', () => {
  it('let one workspace send ten bodies of 32 MiB at once where 2 GiB may be used, and three of the chart’s 512 MiB', () => {
    const bodies = (memory: number): number => Math.floor((uploadLimits(memory).workspaceBytes * 7) / 8 / (32 * MiB));
    expect([bodies(2048 * MiB), bodies(512 * MiB)]).toEqual([14, 3]);
    expect(uploadLimits(512 * MiB)).toEqual({
      ...{ totalBytes: 256 * MiB, workspaceBytes: 128 * MiB, addressBytes: 128 * MiB },
    });
  });
});

describe('the order of uploads', () => {
  /** An upload that has asked for its turn, and whether it has it. */
  function asking(declaredBytes: number) {
    const upload = open('w', '203.0.113.1', declaredBytes);
    let isReceived = false;
    upload.begin({ read: () => (isReceived = true), expire: () => undefined });
    return { ...upload, isReceived: () => isReceived };
  }

  it.each([
    ['was read', 'read'],
    ['has ended', 'close'],
  ] as const)(
    'is that in which they came, a few at a time, until one %s; short ones are received at once',
    (_, end) => {
      uploads = createUploads({ clock, limits: uploadLimits(1024 * MiB) });
      const large = Array.from({ length: 20 }, () => asking(MiB));
      const unknown = asking(0);
      const received = (): number => large.filter(({ isReceived }) => isReceived()).length;
      expect([received(), unknown.isReceived()]).toEqual([16, false]);
      expect(asking(64 * KiB).isReceived()).toBe(true);
      large[3]?.hold(MiB);
      large[3]?.complete();
      expect(received()).toBe(16);
      large[3]?.[end](MiB);
      expect(received()).toBe(17);
      clock.advance(4_000);
      expect([received(), unknown.isReceived()]).toEqual([20, true]);
      for (const { close } of [...large, unknown]) close();
      expect(asking(16 * MiB).isReceived()).toBe(true);
    },
  );
});

describe('the time of uploads', () => {
  it('ends one that brings no byte for 20 s, once, in words of the contract', () => {
    const { ended } = arriving(1);
    clock.advance(20_000);
    expect(ended).toEqual([]);
    clock.advance(1_000);
    expect(ended).toMatchObject([
      { code: 'invalid_request', message: 'The request body did not arrive in time.', limit: 'upload-time' },
    ]);
    clock.advance(60_000);
    expect(ended).toHaveLength(1);
    expect([uploads.arriving(), clock.armed()]).toEqual([0, 0]);
  });

  it('ends one that brings a byte now and then after a minute', () => {
    const { ended, hold } = arriving(1);
    for (let second = 0; second < 59; second += 1) {
      clock.advance(1_000);
      hold(second + 2);
    }
    expect(ended).toEqual([]);
    clock.advance(1_000);
    expect(ended).toHaveLength(1);
  });

  it('serves a slow and honest one: 2 KiB a second, for ten minutes', () => {
    const { ended, hold } = arriving(1);
    for (let second = 1; second <= 600; second += 1) {
      hold(second * 2 * KiB);
      clock.advance(1_000);
    }
    expect(ended).toEqual([]);
  });

  it('does not run for one that has all arrived, or whose caller has left', () => {
    const [whole, left] = [arriving(1), arriving(1)];
    whole.complete();
    left.close();
    clock.advance(600_000);
    expect([whole.ended, left.ended, clock.armed()]).toEqual([[], [], 0]);
    expect(uploads.bytes()).toBe(64 * KiB);
  });

  it('counts a check once, however late it is, and only after what has arrived was read', async () => {
    const { ended, hold } = arriving(1);
    clock.advance(20_000);
    await clock.holdUp(600_000, () => hold(2));
    clock.advance(19_000);
    expect(ended).toEqual([]);
    clock.advance(1_000);
    expect(ended).toHaveLength(1);
  });

  it('begins once, and not after the request has ended', () => {
    const [begun, ended] = [open(), open()];
    let reads = 0;
    const begin = { read: () => void (reads += 1), expire: () => undefined };
    begun.begin(begin);
    begun.begin(begin);
    ended.close();
    ended.begin(begin);
    expect([reads, uploads.arriving()]).toEqual([1, 1]);
    begun.close();
    expect([uploads.arriving(), clock.armed()]).toEqual([0, 0]);
    uploads.close();
  });

  it('takes one timer for all of them', () => {
    const many = Array.from({ length: 100 }, () => arriving(1));
    expect(clock.armed()).toBe(1);
    for (const { close } of many) close();
    expect(clock.armed()).toBe(0);
    arriving(1);
    expect(clock.armed()).toBe(1);
    uploads.close();
    expect(clock.armed()).toBe(0);
  });
});
