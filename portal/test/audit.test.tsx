import { screen, within } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import type { AuditEntryObject } from '../../src/portal/api/audit.ts';
import { auditActions } from '../src/format/audit-sentence.ts';
import { AuditPage } from '../src/pages/audit.tsx';
import { now, viewerSession } from './support/objects.ts';
import { type Answer, answerWith, list, refusal, silence } from './support/portal.ts';
import { show } from './support/show.tsx';

const entry = (given: Partial<AuditEntryObject>): AuditEntryObject => ({
  ...{ id: 1, at: now, actor: { kind: 'portal-user', name: 'ada@example.com' }, action: 'key.create' },
  ...{ object: 'key_1', object_name: null, workspace: 'acme', before: null, after: {} },
  ...given,
});

function showAudit(answer: Answer, at = '/audit') {
  const sent = answerWith({ 'GET /audit': answer });
  return { reader: show(<AuditPage />, { as: viewerSession, at }), sent };
}

/** The sentence of an entry. */
async function sentenceOf(given: Partial<AuditEntryObject>): Promise<string | null | undefined> {
  showAudit(list([entry(given)]));
  const [, row] = within(await screen.findByRole('table', { name: 'Audit log' })).getAllByRole('row');
  return row && within(row).getAllByRole('cell')[0]?.firstElementChild?.firstElementChild?.textContent;
}

const budget = (limit: string) => ({ budget: { limit, period: 'week' } });

describe('the audit log', () => {
  test('is waited for, may be empty, and says why it could not be read', async () => {
    showAudit(silence);
    expect(screen.getByRole('status', { name: 'Loading' })).toBeVisible();
  });

  test.each([
    ['/audit?by=automatic', 'No such changes'],
    ['/audit?actor=a+stranger', 'No such changes'],
  ])('without entries at %s says so', async (at, words) => {
    showAudit(list([]), at);
    expect(await screen.findByRole('heading', { name: words })).toBeVisible();
  });

  test('that could not be read is an alert', async () => {
    showAudit(refusal(503, 'The database does not answer.'));
    expect(await screen.findByRole('alert')).toHaveTextContent('The database does not answer.');
  });

  test.each<readonly [Partial<AuditEntryObject>, string]>([
    [
      {
        ...{ action: 'key.threshold-reached', object_name: 'notebooks' },
        after: { percent: 95, used: '163.47', limit: '172', alert: 'alert_1' },
      },
      'Key notebooks reached 95% of its budget ($163.47 of $172.00).',
    ],
    [
      {
        ...{ action: 'workspace.tag-threshold-reached', object: 'ws_1' },
        after: { tag: 'team=ads', percent: 50, used: '5', limit: '10' },
      },
      'Tag team=ads of acme reached 50% of its budget ($5.00 of $10.00).',
    ],
    [
      { action: 'key.create', object_name: 'CI', after: { name: 'CI', status: 'active', rate: 100 } },
      'Key CI was created: requests a second 100.',
    ],
    [
      { action: 'key.budget', object_name: 'CI', before: budget('5'), after: budget('8') },
      'Key CI was changed: budget $8.00 a week, was $5.00 a week.',
    ],
    // A key without a name, and a change that this version cannot show.
    [{ action: 'key.update', before: { a: 1 }, after: { a: 1 } }, 'Key key_1 was changed.'],
    [
      {
        action: 'workspace.credit',
        object: 'ws_1',
        before: { balance: '1' },
        after: { balance: '6', credit: '5', note: 'order 7' },
      },
      'Workspace acme got a credit of $5.00 (order 7).',
    ],
    [
      {
        action: 'workspace.credit',
        object: 'ws_1',
        before: { balance: '6' },
        after: { balance: '3', credit: '-3', note: 'refund' },
      },
      'Workspace acme was corrected by -$3.00 (refund).',
    ],
    [
      { action: 'member.invite', object: 'member_1', after: { address: 'mia@example.com', role: 'viewer' } },
      'Member mia@example.com was invited as viewer.',
    ],
    [
      {
        ...{ action: 'workspace.tag-budget', object: 'ws_1', workspace: 'acme' },
        before: { tag: 'team=ads', budget: null },
        after: { tag: 'team=ads', budget: { limit: '5', period: 'day' } },
      },
      'The budget of tag team=ads in workspace acme was changed: budget $5.00 a day, was none.',
    ],
    [
      { action: 'model.accept-vectors', object: 'acme/embed', workspace: null, after: { route: 'acme/embed@gpu' } },
      'The vectors of acme/embed@gpu are the reference of model acme/embed.',
    ],
  ])('says %j in a sentence', async (given, sentence) => {
    expect(await sentenceOf(given)).toBe(sentence);
  });

  test('has a sentence with the object for each action', async () => {
    const after = { percent: 1, used: '1', limit: '2', credit: '1', route: 'r', role: 'owner', tag: 'a=b' };
    showAudit(
      list(
        auditActions.map((action, id) => entry({ id, action, after, workspace: null } as Partial<AuditEntryObject>)),
      ),
    );
    const rows = within(await screen.findByRole('table', { name: 'Audit log' }))
      .getAllByRole('row')
      .slice(1);
    expect(rows).toHaveLength(auditActions.length);
    for (const row of rows) {
      expect(within(row).getByRole('link', { name: 'key_1' })).toHaveAttribute('href', '/audit?object=key_1');
      expect(row.textContent).not.toMatch(/undefined|null|NaN|\*/);
    }
  });

  test('shows changes by people and by programs apart', async () => {
    const { reader, sent } = showAudit(list([entry({})]));
    await reader.click(await screen.findByRole('radio', { name: 'Automatic' }));
    await expect.poll(() => sent.at(-1)?.query).toEqual({ workspace: 'acme', by: 'automatic' });
    await reader.click(screen.getByRole('radio', { name: 'People' }));
    await expect.poll(() => sent.at(-1)?.query).toEqual({ workspace: 'acme', by: 'people' });
    await reader.click(screen.getByRole('radio', { name: 'All' }));
    await expect.poll(() => location.search).toBe('');
  });
});
