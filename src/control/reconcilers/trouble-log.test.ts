import { expect, it } from 'vitest';
import { createTroubleLog } from './trouble-log.ts';

it('names a failed watch once for each reason, and the watch that is synced again', () => {
  const lines: (readonly [level: string, facts: object, message: string])[] = [];
  const log = {
    info: (facts: object, message: string) => void lines.push(['info', facts, message]),
    warn: (facts: object, message: string) => void lines.push(['warn', facts, message]),
  };
  const tell = createTroubleLog(log, { namespace: 'ai', watch: 'catalog' });
  const troubles = ['models', 'backends'].map((of) => ({ of, reason: 'forbidden' }));
  for (const current of [troubles, troubles, [], troubles.slice(1)]) tell(current);
  const facts = { namespace: 'ai', watch: 'catalog' };
  expect(lines).toEqual([
    ['warn', { ...facts, of: ['models', 'backends'], reason: 'forbidden' }, 'watch failed'],
    ['info', facts, 'watch synced'],
    ['warn', { ...facts, of: ['backends'], reason: 'forbidden' }, 'watch failed'],
  ]);
});
