import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import type { AlertObject } from '../../src/portal/api/alerts.ts';
import type { SessionObject } from '../../src/portal/api/session.ts';
import type { WorkspaceObject } from '../../src/portal/api/workspaces.ts';
import { Alerts } from '../src/pages/alerts.tsx';
import { alertObject, viewerSession, workspace } from './support/objects.ts';
import { type Answer, answerWith, changesIn, json, refusal } from './support/portal.ts';
import { show } from './support/show.tsx';

interface Shown {
  readonly as?: SessionObject;
  readonly thresholds?: readonly number[];
  readonly alerts?: readonly AlertObject[];
  readonly onSet?: Answer;
  readonly of?: Partial<WorkspaceObject>;
}

const path = '/workspaces/ws_1';

function showAlerts({ as, thresholds = [80, 100], alerts = [], onSet = json({ thresholds: [] }), of }: Shown = {}) {
  const sent = answerWith({
    [`GET ${path}`]: json({ ...workspace, ...of }),
    [`GET ${path}/alerts`]: json({ thresholds, data: alerts, next_cursor: null }),
    [`POST ${path}/thresholds`]: onSet,
  });
  return { reader: show(<Alerts of={workspace} />, as === undefined ? {} : { as }), sent };
}

test.each([
  [[], 'There are no alerts about the balance.'],
  [[90], 'There is an alert when 90 % of the balance after the last credit is used.'],
  [[50, 80, 100], 'There is an alert when 50 %, 80 %, or 100 % of the balance after the last credit is used.'],
])('thresholds %j read: %s', async (thresholds, words) => {
  showAlerts({ thresholds });
  expect(await screen.findByText(words)).toBeVisible();
  expect(screen.getByText('No threshold was reached yet.')).toBeVisible();
});

test('an alert says what has reached how much, and whether its webhook arrived', async () => {
  showAlerts({
    alerts: [
      alertObject({ id: 'alert_1', key_name: 'CI', delivery: 'delivered' }),
      alertObject({ id: 'alert_2', key_name: null, delivery: 'failed' }),
      alertObject({ id: 'alert_3', kind: 'tag', key: null, key_name: null, tag: 'team=search', delivery: 'waiting' }),
      alertObject({ id: 'alert_4', kind: 'balance', key: null, key_name: null, percent: 100, delivery: 'none' }),
    ],
  });
  const [, ...rows] = await screen.findAllByRole('row');
  const cells = rows.map((row) =>
    within(row)
      .getAllByRole('cell')
      .map(({ textContent }) => textContent),
  );
  expect(cells).toEqual([
    ['Budget of CI', '80 %', '$4.10 of $5.00', 'Webhook delivered'],
    ['Budget of key_1', '80 %', '$4.10 of $5.00', 'Webhook not accepted within a day'],
    ['Budget of team=search', '80 %', '$4.10 of $5.00', 'Webhook is being sent'],
    ['Balance', '100 %', '$4.10 of $5.00', 'No webhook of its own'],
  ]);
});

test('a viewer sees the thresholds and cannot change them', async () => {
  showAlerts({ as: viewerSession });
  expect(await screen.findByText(/There is an alert when 80 % or 100 %/)).toBeVisible();
  expect(screen.queryByRole('button')).toBeNull();
});

test.each([
  [true, 0, 1],
  [false, 1, 0],
])('an admin changes the thresholds unless an object manages the workspace: %s', async (locked, buttons, notes) => {
  showAlerts({ of: { declared_by: { ...{ kind: 'Workspace', namespace: 'web', name: 'acme' }, locked } } });
  await waitFor(() => {
    expect(screen.queryAllByRole('button', { name: 'Change thresholds' })).toHaveLength(buttons);
    expect(screen.queryAllByText('Managed by Workspace web/acme')).toHaveLength(notes);
  });
});

describe('the thresholds of the balance', () => {
  const open = async (reader: ReturnType<typeof show>) => {
    await reader.click(await screen.findByRole('button', { name: 'Change thresholds' }));
    return screen.getByLabelText('Percentages of the balance');
  };

  test.each([
    ['50, 75,,100', [50, 75, 100]],
    ['', []],
  ])('are sent as numbers: "%s"', async (text, percents) => {
    const { reader, sent } = showAlerts();
    const field = await open(reader);
    expect(field).toHaveValue('80, 100');
    expect(field).toHaveFocus();
    await reader.clear(field);
    await reader.type(field, `${text}{Enter}`);
    await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
    expect(changesIn(sent)).toEqual([{ call: `POST ${path}/thresholds`, body: { percents } }]);
  });

  test('that are wrong are described at the field', async () => {
    const { reader } = showAlerts({
      onSet: refusal(400, 'percents: expected whole numbers from 1 to 100', 'percents'),
    });
    const field = await open(reader);
    await reader.type(field, ', 200{Enter}');
    await waitFor(() => expect(field).toHaveAccessibleDescription(/expected whole numbers from 1 to 100$/));
    expect(screen.getByRole('dialog')).toBeVisible();
  });

  test('that the portal cannot keep now are an alert', async () => {
    const { reader } = showAlerts({ onSet: refusal(503, 'The database does not answer.') });
    await open(reader);
    await reader.click(screen.getByRole('button', { name: 'Save' }));
    expect(await screen.findByRole('alert')).toHaveTextContent('The database does not answer.');
  });
});
