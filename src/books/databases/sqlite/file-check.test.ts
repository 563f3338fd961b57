import { expect, it } from 'vitest';
import { withoutFiles } from '../../../../test/support/without-files.ts';

it('a file is unchecked, and not damaged, if no file is left for the process that checks it', async () => {
  const code = `
    const found = [];
    const check = startFileCheck('/nowhere', {
      onDamage: () => found.push('damaged'),
      onUnchecked: (reason) => found.push(reason),
    });
    await check.ended;
    return [...found, check.isDamaged()];`;
  const module = new URL('file-check.ts', import.meta.url);
  expect(await withoutFiles(code, { startFileCheck: module })).toEqual([expect.stringContaining('EMFILE'), false]);
});
