import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dialects } from '../../gateway/dialects/dialects.ts';
import { systemClock } from '../../process/clock.ts';
import { newRequestId } from '../../process/machine.ts';
import { firstIdAt, packId, startOf, unpackId } from './packed-id.ts';

const surfaces = ['chat', 'messages'] as const;
const other = { startedAt: 1_790_000_000_123 };

describe('a packed id', () => {
  it.each(surfaces)('tells all of an id that the service made for %s, and when', (surface) => {
    const requestId = dialects[surface].idPrefixes.request + newRequestId();
    const before = systemClock.now();
    const { id, isOwn } = packId(requestId, { surface, ...other });
    expect([id, isOwn]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), true]);
    expect(unpackId(id, surface)).toBe(requestId);
    expect(Math.abs(startOf(id) - before)).toBeLessThan(10_000);
  });

  it('is the same for the same text and start, when the text is of another form', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(...surfaces), fc.nat(), (text, surface, startedAt) => {
        const one = packId(text, { surface, startedAt });
        expect(one).toEqual(packId(text, { surface, startedAt }));
        expect(one).toEqual({ id: expect.stringMatching(/^[0-9a-f]{32}$/), isOwn: false });
        expect(startOf(one.id)).toBe(startedAt);
        expect(packId(`${text}.`, { surface, startedAt }).id).not.toBe(one.id);
      }),
    );
  });

  it.each([
    ['one character less', 'chatcmpl-AZ3xYkBvSi2aTn0qVYl4z'],
    ['24 characters, which is more than 16 bytes', 'chatcmpl-AZ3xYkBvSi2aTn0qVYl4zQAA'],
    ['bits that 16 bytes do not have', 'chatcmpl-AZ3xYkBvSi2aTn0qVYl4zB'],
    ['another prefix of that length', 'chatcmpl_AZ3xYkBvSi2aTn0qVYl4zQ'],
    ['the prefix of another surface', 'msg_AZ3xYkBvSi2aTn0qVYl4zQ'],
  ])('does not take %s for one of the service', (_, text) => {
    expect(packId('chatcmpl-AZ3xYkBvSi2aTn0qVYl4zQ', { surface: 'chat', ...other }).isOwn).toBe(true);
    expect(packId(text, { surface: 'chat', ...other })).toMatchObject({ isOwn: false });
  });

  it('is in the order of time', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.string(), (one, two, text) => {
        const { id } = packId(text, { surface: 'chat', startedAt: one });
        expect(id >= firstIdAt(two)).toBe(one >= two);
      }),
    );
    expect(firstIdAt(1)).toBe('00000000000100000000000000000000');
  });

  it('has room for every moment up to the year 10889', () => {
    expect(firstIdAt(2 ** 48 - 1)).toBe('ffffffffffff00000000000000000000');
    for (const moment of [-1, 2 ** 48, Number.NaN]) {
      expect(() => firstIdAt(moment)).toThrow(new RangeError(`${moment} is not a moment that an id can contain`));
    }
  });
});
