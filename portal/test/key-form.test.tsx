import { screen, within } from '@testing-library/react';
import { describe, expect, test, vi } from 'vitest';
import type { KeyObject } from '../../src/portal/api/keys.ts';
import { ApiError } from '../src/data/api.ts';
import { type KeyFields, KeyForm } from '../src/pages/key-form.tsx';
import { keyObject, modelObject } from './support/objects.ts';
import { answerWith, json, silence } from './support/portal.ts';
import { show } from './support/show.tsx';

interface Shown {
  /** The key that is edited; none: a new one. */
  readonly of?: Partial<KeyObject>;
  readonly error?: Error;
  readonly isPending?: boolean;
  readonly models?: readonly string[];
}

function showForm({ of, error, isPending = false, models = [] }: Shown = {}) {
  const data = models.map((id) => modelObject({ id }));
  answerWith({ 'GET /models': models.length === 0 ? silence : json({ services: [], data, next_cursor: null }) });
  const onSubmit = vi.fn<(changed: KeyFields) => void>();
  const onCancel = vi.fn<() => void>();
  const form = (
    <KeyForm
      action="Save"
      {...(of === undefined ? {} : { of: keyObject(of) })}
      state={{ error: error ?? null, isPending }}
      onCancel={onCancel}
      onSubmit={onSubmit}
    />
  );
  return { reader: show(form), onSubmit, onCancel };
}

const save = () => screen.getByRole('button', { name: 'Save' });
const field = (name: string) => screen.getByLabelText(name);

describe('a new key', () => {
  test('has what was typed, and the rest as the server sets it', async () => {
    const { reader, onSubmit } = showForm();
    expect(field('Name')).toHaveFocus();
    await reader.type(field('Name'), ' CI ');
    await reader.type(field('Budget (USD)'), '5');
    await reader.selectOptions(field('Period'), 'Week');
    await reader.click(save());
    expect(onSubmit.mock.calls).toEqual([[{ name: 'CI', budget: { limit: '5', period: 'week' } }]]);
  });

  test('has no field for alerts, because its budget gets the default ones', () => {
    showForm();
    expect(screen.queryByLabelText('Alerts at (% of the budget)')).toBeNull();
  });

  test('needs limits', async () => {
    const { reader, onSubmit } = showForm();
    await reader.clear(field('Requests a second'));
    await reader.click(save());
    expect(onSubmit).not.toHaveBeenCalled();
    expect(field('Requests a second')).toBeInvalid();
  });
});

describe('a key that is edited', () => {
  const of: Partial<KeyObject> = {
    ...{ name: 'CI', budget: { limit: '5', period: 'month' }, thresholds: [50, 100] },
    ...{ rate: 10, burst: 20, tokens_per_minute: 5_000, models: ['qwen/*'], expires_at: '2026-08-01T10:00:30.000Z' },
  };

  test('shows its values', () => {
    showForm({ of });
    expect(field('Name')).toHaveValue('CI');
    expect(field('Budget (USD)')).toHaveValue('5');
    expect(field('Period')).toHaveDisplayValue('Month');
    expect(field('Alerts at (% of the budget)')).toHaveValue('50, 100');
    expect(field('Requests a second')).toHaveValue(10);
    expect(field('Models')).toHaveValue('qwen/*');
  });

  test('sends nothing when nothing was changed: seconds of the expiry that the form does not show stay', async () => {
    const { reader, onSubmit } = showForm({ of });
    await reader.click(save());
    expect(onSubmit.mock.calls).toEqual([[{}]]);
  });

  test.each([
    ['Name', '', { name: null }],
    ['Budget (USD)', '', { budget: null }],
    ['Budget (USD)', '7.50', { budget: { limit: '7.50', period: 'month' } }],
    ['Alerts at (% of the budget)', '', { thresholds: [] }],
    ['Alerts at (% of the budget)', '80,90', { thresholds: [80, 90] }],
    ['Requests at once', '30', { burst: 30 }],
    ['Tokens a minute', '', { tokens_per_minute: null }],
    ['Tokens a minute', '60000', { tokens_per_minute: 60_000 }],
    ['Models', '', { models: null }],
    ['Models', 'qwen/*, demo/chat', { models: ['qwen/*', 'demo/chat'] }],
  ])('sends only the changed field: %s "%s"', async (name, text, sent) => {
    const { reader, onSubmit } = showForm({ of });
    await reader.clear(field(name));
    if (text !== '') await reader.type(field(name), text);
    await reader.click(save());
    expect(onSubmit.mock.calls).toEqual([[sent]]);
  });

  test('sends the limits that only count, and null if all are enforced again', async () => {
    const { reader, onSubmit } = showForm({ of: { ...of, not_enforced: ['budget'] } });
    const box = (name: string) => screen.getByRole('checkbox', { name });
    expect(screen.getByRole('group', { name: 'Count only' })).toHaveAccessibleDescription(/are served/);
    expect(box('Budget')).toBeChecked();
    await reader.click(box('Tokens'));
    await reader.click(save());
    await reader.click(box('Tokens'));
    await reader.click(box('Budget'));
    await reader.click(save());
    expect(onSubmit.mock.calls).toEqual([[{ not_enforced: ['tokens', 'budget'] }], [{ not_enforced: null }]]);
  });

  test('keeps its budget when only the period is changed', async () => {
    const { reader, onSubmit } = showForm({ of });
    await reader.selectOptions(field('Period'), 'Day');
    await reader.click(save());
    expect(onSubmit.mock.calls).toEqual([[{ budget: { limit: '5', period: 'day' } }]]);
  });

  test('has no budget if only the period of none is changed', async () => {
    const { reader, onSubmit } = showForm({ of: { ...of, budget: null } });
    await reader.selectOptions(field('Period'), 'Day');
    await reader.click(save());
    expect(onSubmit.mock.calls).toEqual([[{}]]);
  });
});

test('an expiry is described in the zone of the reader and in UTC', async () => {
  const { reader } = showForm();
  expect(field('Expires')).toHaveAccessibleDescription(/^In your time zone, Europe\/Berlin\. Empty: the key does not/);
  await reader.type(field('Expires'), '2026-11-23T18:05');
  expect(field('Expires')).toHaveAccessibleDescription(
    /: Nov 23, 2026, 17:05 UTC\. Weir refuses the key after this time\.$/,
  );
});

describe('an error of the server', () => {
  test('about a field describes this field', () => {
    showForm({ of: {}, error: new ApiError(400, 'expected an amount in USD', 'budget.limit') });
    expect(field('Budget (USD)')).toHaveAccessibleDescription('expected an amount in USD');
    expect(field('Budget (USD)')).toBeInvalid();
    expect(field('Name')).toBeValid();
    expect(screen.queryByRole('alert')).toBeNull();
  });

  test('about no field is an alert', () => {
    showForm({ of: {}, error: new ApiError(409, 'The key is revoked.') });
    expect(screen.getByRole('alert')).toHaveTextContent('The key is revoked.');
  });
});

test('a form that is under way cannot be sent again', async () => {
  const { reader, onCancel } = showForm({ of: {}, isPending: true });
  expect(save()).toBeDisabled();
  await reader.click(screen.getByRole('button', { name: 'Cancel' }));
  expect(onCancel).toHaveBeenCalledOnce();
});

describe('the models of the catalog', () => {
  test('are added by a click, and are then not offered again', async () => {
    const { reader } = showForm({ models: ['demo/chat', 'qwen/qwen3-8b'] });
    await reader.click(await screen.findByRole('button', { name: 'Add demo/chat' }));
    await reader.click(screen.getByRole('button', { name: 'Add qwen/qwen3-8b' }));
    expect(field('Models')).toHaveValue('demo/chat, qwen/qwen3-8b');
    expect(screen.queryByRole('group', { name: 'Models of the catalog' })).toBeNull();
  });

  test('are offered twelve at once, also when there are a thousand', async () => {
    showForm({ models: Array.from({ length: 1_000 }, (_, at) => `org/model-${at}`) });
    const group = await screen.findByRole('group', { name: 'Models of the catalog' });
    expect(within(group).getAllByRole('button')).toHaveLength(12);
  });
});
