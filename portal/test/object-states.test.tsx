import { screen, within } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import type { BackendObject, ModelObject } from '../../src/portal/api/catalog.ts';
import type { KeyObject } from '../../src/portal/api/keys.ts';
import type { WorkspaceObject } from '../../src/portal/api/workspaces.ts';
import { backendState, keyState, modelState, workspaceState } from '../src/data/states.ts';
import { OverviewPage } from '../src/pages/overview.tsx';
import { keyObject, memberSession, modelObject, now, workspace } from './support/objects.ts';
import { answerWith, json, list } from './support/portal.ts';
import { show } from './support/show.tsx';

const budget = { limit: '5', period: 'month' } as const;
const spent = { budget, spent: '5', budget_ends_at: '2026-12-01T00:00:00.000Z' } as const;

describe('the state of', () => {
  test.each<readonly [Partial<KeyObject>, string]>([
    [{}, 'Active'],
    [{ ...spent, spent: '4.99' }, 'Active'],
    [spent, 'Budget spent until Dec 1'],
    [{ ...spent, spent: '7' }, 'Budget spent until Dec 1'],
    [{ ...spent, budget: { limit: '5', period: 'total' }, budget_ends_at: null }, 'Budget spent'],
    [{ ...spent, not_enforced: ['budget'] }, 'Active'],
    [{ ...spent, status: 'suspended' }, 'Suspended'],
    [{ ...spent, status: 'revoked' }, 'Revoked'],
    [{ expires_at: '2026-07-01T00:00:00.000Z' }, 'Expired'],
    [{ expires_at: '2026-07-01T00:00:00.000Z', status: 'suspended' }, 'Expired'],
    [{ expires_at: '2026-08-01T00:00:00.000Z' }, 'Active'],
  ])('a key with %j is “%s”', (given, word) => {
    expect(keyState(keyObject(given), Date.parse(now)).word).toBe(word);
  });

  test.each<readonly [Partial<WorkspaceObject>, string]>([
    [{ balance: '0.01' }, 'Active'],
    [{ balance: '0' }, 'No balance'],
    [{ balance: '-3' }, 'No balance'],
    [{ balance: '-3', credit_limit: '500' }, 'Active'],
    [{ balance: '-3', status: 'suspended' }, 'Suspended'],
  ])('a workspace with %j is “%s”', (given, word) => {
    expect(workspaceState({ ...workspace, ...given }).word).toBe(word);
  });

  test.each<readonly [conditions: string, cause: string | null, string]>([
    ['Accepted True, Programmed True, Healthy True', null, 'Healthy'],
    ['Accepted True, Programmed True, Healthy True SomeEndpointsFail', null, 'Some endpoints fail'],
    [
      'Accepted True, Programmed True, Healthy False CredentialRefused',
      'refuses its key',
      'Not healthy: refuses its key',
    ],
    ['Accepted True, Programmed True, Healthy False NoAddress', null, 'Not healthy: has no endpoint for requests'],
    ['Accepted True, Programmed True, Healthy Unknown NotTried', null, 'Unknown'],
    ['Accepted True, Programmed False, Healthy Unknown', null, 'Refused by Envoy'],
    ['Accepted False', null, 'Refused: has a mistake'],
  ])('a Backend with %s (%s) is “%s”', (text, cause, word) => {
    const conditions = text.split(', ').map((condition) => {
      const [type = '', status = '', reason = ''] = condition.split(' ');
      return { type, status: status as 'True', reason, message: '' };
    });
    expect(backendState({ conditions, cause } as unknown as BackendObject).word).toBe(word);
  });

  const untried = { availability: null, first_token_ms_p50: null, tokens_per_second_p50: null };
  test.each<readonly [Partial<ModelObject>, string]>([
    [{}, 'Available'],
    [untried, 'Unknown'],
    [{ ...untried, first_token_ms_p50: 90 }, 'Available'],
    [{ ...untried, state: 'unavailable' }, 'Unavailable'],
    [{ state: 'degraded' }, 'Degraded'],
  ])('a model with %j is “%s”', (given, word) => {
    expect(modelState(modelObject(given)).word).toBe(word);
  });
});

test.each([
  [1, 'an owner sees the keys whose budget is spent'],
  [0, 'an owner without such keys sees nothing about them'],
])('%i: %s', async (count) => {
  const keys = [keyObject({ ...spent, id: 'key_9', name: 'notebooks' })].slice(0, count);
  const sent = answerWith({
    'GET /workspaces/ws_1/keys': list(keys),
    'GET /workspaces/acme/keys': list(keys),
    'GET /usage': json({ data: [], next_cursor: null }),
  });
  show(<OverviewPage />, { as: memberSession('owner', ['keys:read', 'usage:read']) });
  await expect.poll(() => sent.some(({ query }) => query['spent'] === 'true')).toBe(true);
  if (count === 0) return expect(screen.queryByRole('table')).toBeNull();
  const table = await screen.findByRole('table', { name: 'Keys with a spent budget' });
  expect(table).toHaveTextContent(/notebooks.*Budget spent until Dec 1.*\$5\.00 of \$5\.00 a month/);
  expect(within(table).getByRole('link').getAttribute('href')).toBe('/keys?workspace=acme&search=key_9');
});
