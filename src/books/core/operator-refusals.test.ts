import { describe, expect, it } from 'vitest';
import { operatorRefusals, Refusal, type RefusalCode, refusal } from './operator-refusals.ts';

describe('a refusal of an operator', () => {
  it.each([
    [refusal('credit_zero'), 400, 'amount', 'A credit must be more than 0 USD, or less than 0 for a correction.'],
    [
      refusal('key_not_found', { id: 'key_1' }, { field: 'key' }),
      ...[404, 'key', 'There is no key with the id "key_1". `weir key list` shows them all.'],
    ],
    [
      refusal('report_not_whole_hours', { option: '--since' }, { field: 'from' }),
      ...[400, 'from', /Change --since, or list single requests/],
    ],
    [refusal('times_reversed'), 400, undefined, '--since must be before --until.'],
  ] as const)('has the status, the field and the sentence of its row: %s', (refused, status, field, message) => {
    expect([refused.status, refused.field]).toEqual([status, field]);
    expect(refused.message).toMatch(message);
  });

  it('keeps from the admin API what only the command line can use', () => {
    expect(refusal('key_not_found', { id: 'key_1' }).sentence).toBe('There is no key with the id "key_1".');
  });

  it('fills each part once, whatever it says', () => {
    const name = '{name} $& {what}';
    expect(refusal('workspace_exists', { name }).message).toBe(`There is already a workspace named "${name}".`);
  });

  it('is the same after it was passed between threads', () => {
    const { code, parts, field } = refusal('member_exists', { address: 'a@example.com', workspace: 'acme' });
    const passed = new Refusal(code, structuredClone(parts), { field });
    expect(passed.message).toBe('a@example.com is a member of "acme" already. Change the role instead.');
  });

  it.each(Object.keys(operatorRefusals) as RefusalCode[])('%s is one line, explained on a page', (code) => {
    const [, page, sentence] = operatorRefusals[code];
    expect(sentence).toMatch(/^[^\n]+$/);
    expect(page).toMatch(/^(?:docs|charts)\/[\w/-]+\.md(#[\w-]+)?$/);
  });
});
