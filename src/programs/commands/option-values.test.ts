import { describe, expect, it } from 'vitest';
import { countOption, momentOption, nameOption, namesOption, tagCountsOption, usdOption } from './option-values.ts';

describe('option values', () => {
  it.each([
    [usdOption, '25', 25_000_000_000_000n],
    [usdOption, '0.000000000001', 1n],
    [usdOption, '0', 0n],
    [countOption(1), '1', 1],
    [countOption(1), '1000000000', 1_000_000_000],
    [countOption(0), '0', 0],
    [nameOption(['day', 'week']), 'week', 'week'],
    [momentOption, '2026-07-01', Date.UTC(2026, 6, 1)],
    [momentOption, '2026-07-01T12:00Z', Date.UTC(2026, 6, 1, 12)],
    [momentOption, '2026-07-01T12:00:00.5+02:00', Date.UTC(2026, 6, 1, 10, 0, 0, 500)],
  ] as const)('%o reads %s', (parse, text, value) => {
    expect(parse(text)).toBe(value);
  });

  it('reads some of a few names, in their order, and refuses others', () => {
    const parse = namesOption(['rate', 'tokens', 'budget']);
    expect(parse('budget,rate,rate')).toEqual(['rate', 'budget']);
    expect(() => parse('rate,balance')).toThrow('"balance" is not one of rate, tokens, budget.');
    expect(() => parse('')).toThrow('is not one of');
  });

  it('reads numbers by tags, and refuses what is no tag or no number', () => {
    expect(tagCountsOption('team=search:60000,app=a:b:5')).toEqual({ 'team=search': 60_000, 'app=a:b': 5 });
    for (const text of ['', 'team=search', 'team=search:', 'team=search:0', 'team:5', 'a=b:1,', 'a=b:x'])
      expect(() => tagCountsOption(text), text).toThrow(/It must be|is not a tag: expected name=value/);
  });

  it.each([
    [usdOption, ['-1', '', '1e3', '0x10', '1.0000000000001', '1,5', '$5', ' 5', 'NaN']],
    [countOption(1), ['0', '-1', '1.5', '', '1e3', 'x', '1000000001', '99999999999']],
    [nameOption(['day', 'week']), ['', 'Day', 'year']],
    [momentOption, ['', 'yesterday', '2026', '2026-13-01', '2026-07-01T12:00', '01/07/2026', '1751328000']],
  ] as const)('%o refuses what is not one', (parse, texts) => {
    for (const text of texts) expect(() => parse(text), text).toThrow('It must be');
  });
});
