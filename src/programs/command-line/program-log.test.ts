import { describe, expect, it } from 'vitest';
import type { LogLevel } from '../../core/log-level.ts';
import { createLog } from './program-log.ts';

function setUp(first: LogLevel) {
  const records: Record<string, unknown>[] = [];
  const told: LogLevel[] = [];
  const write = (record: string): void => void records.push(JSON.parse(record) as Record<string, unknown>);
  const { log, level } = createLog(first, { output: { write }, onLevel: (now) => void told.push(now) });
  return { log, level, told, messages: () => records.map(({ msg }) => msg) };
}

describe('the log of a program', () => {
  it('logs from the level on that it was set to last, its older children too, and says the change at that level', () => {
    const { log, level, told, messages } = setUp('warn');
    const child = log.child({ of: 'a part' });
    const all = (): void => {
      for (const one of [log, child]) for (const name of ['debug', 'info', 'warn', 'error'] as const) one[name](name);
    };
    all();
    expect(messages()).toEqual(['warn', 'error', 'warn', 'error']);
    const change = 'the least level that is logged was changed';
    for (const [next, logged] of [
      ['debug', ['debug', 'info', 'warn', 'error']],
      ['error', ['error']],
    ] as const) {
      const before = messages().length;
      level.set(next);
      expect(level.current()).toBe(next);
      all();
      expect(messages().slice(before)).toEqual([change, ...logged, ...logged]);
    }
    expect(told).toEqual(['debug', 'error']);
  });

  it('says nothing of a level that it has already', () => {
    const { level, told, messages } = setUp('info');
    level.set('info');
    expect([messages(), told]).toEqual([[], []]);
  });
});
