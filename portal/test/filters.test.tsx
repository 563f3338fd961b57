import { screen, within } from '@testing-library/react';
import { describe, expect, test, vi } from 'vitest';
import { type FilterField, Filters } from '../src/parts/filters.tsx';
import { show } from './support/show.tsx';

const fields: readonly FilterField[] = [
  { name: 'search', label: 'Name' },
  { name: 'object', label: 'Object id', isFor: /^key_/ },
  {
    ...{ name: 'outcome', label: 'Outcome' },
    options: [
      { value: 'failed', label: 'Failed' },
      { value: 'completed', label: 'Completed' },
    ],
  },
];

function showFilters(at = '/requests') {
  const typed = vi.fn<(text: string) => void>();
  const reader = show(<Filters label="Search" placeholder="Anything" fields={fields} hasTime onType={typed} />, { at });
  return { reader, typed, box: screen.getByRole('combobox', { name: 'Search' }) };
}

const selection = () => Object.fromEntries(new URLSearchParams(location.search));
const chips = () => screen.queryAllByRole('button', { name: /^Remove / }).map(({ textContent }) => textContent);

describe('filters', () => {
  test('without a selection have no chips and nothing to clear', () => {
    showFilters();
    expect(chips()).toEqual([]);
    expect(screen.queryByRole('button', { name: 'Clear' })).toBeNull();
  });

  test('suggest what is typed, by keyboard, and the choice is a chip', async () => {
    const { reader, box, typed } = showFilters();
    await reader.type(box, 'fail');
    const options = (await screen.findAllByRole('option')).map(({ textContent }) => textContent);
    expect(options).toEqual(['Name: fail', 'Object id: fail', 'Outcome: Failed']);
    await reader.keyboard('{ArrowDown}{ArrowDown}{ArrowDown}{Enter}');
    expect(selection()).toEqual({ outcome: 'failed' });
    expect(chips()).toEqual(['Outcome: Failed ×']);
    expect(screen.queryByRole('listbox')).toBeNull();
    expect(box).toHaveValue('');
    expect(typed).toHaveBeenLastCalledWith('');
  });

  test.each([
    ['notebooks', { search: 'notebooks' }],
    ['key_42', { object: 'key_42' }],
    ['  ', {}],
  ])('take the text %j with Enter for the field that it is for', async (text, expected) => {
    const { reader, box } = showFilters();
    await reader.type(box, `${text}{Enter}`);
    expect(selection()).toEqual(expected);
  });

  test('are removed one by one, and all at once, but never what else the address has', async () => {
    const { reader } = showFilters(
      '/requests?workspace=acme&search=ci&outcome=completed&from=2026-07-15T10:00:00.000Z',
    );
    expect(chips()).toEqual(['Name: ci ×', 'Outcome: Completed ×', 'From: Jul 15, 2026, 12:00 PM ×']);
    await reader.click(screen.getByRole('button', { name: 'Remove Outcome: Completed' }));
    expect(chips()).toEqual(['Name: ci ×', 'From: Jul 15, 2026, 12:00 PM ×']);
    await reader.click(screen.getByRole('button', { name: 'Clear' }));
    expect(selection()).toEqual({ workspace: 'acme' });
  });

  test('have presets of time, which end another time', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-07-15T12:00:00.000Z') });
    try {
      const { reader } = showFilters('/requests?to=2026-07-01T00:00:00.000Z');
      await reader.click(screen.getByRole('button', { name: 'Last hour' }));
      expect(selection()).toEqual({ from: '2026-07-15T11:00:00.000Z' });
      await reader.click(screen.getByRole('button', { name: '7 days' }));
      expect(selection()).toEqual({ from: '2026-07-08T12:00:00.000Z' });
      // The reader is in Berlin.
      await reader.click(screen.getByRole('button', { name: 'Today' }));
      expect(selection()).toEqual({ from: '2026-07-14T22:00:00.000Z' });
    } finally {
      vi.useRealTimers();
    }
  });

  test('are all in a sheet, in which a value that is no option any more stays chosen', async () => {
    const { reader } = showFilters('/requests?outcome=gone');
    await reader.click(screen.getByRole('button', { name: 'Filters' }));
    const sheet = within(await screen.findByRole('dialog', { name: 'Filters' }));
    expect(sheet.getByLabelText('Outcome')).toHaveDisplayValue('gone');
    await reader.selectOptions(sheet.getByLabelText('Outcome'), 'Failed');
    await reader.type(sheet.getByLabelText('From'), '2026-07-15T12:00');
    await reader.type(sheet.getByRole('combobox', { name: 'Search' }), 'ci{Enter}');
    expect(selection()).toEqual({ outcome: 'failed', from: '2026-07-15T10:00:00.000Z', search: 'ci' });
    await reader.selectOptions(sheet.getByLabelText('Outcome'), 'All');
    await reader.click(sheet.getByRole('button', { name: 'Done' }));
    expect(screen.queryByRole('dialog')).toBeNull();
    expect(chips()).toEqual(['Name: ci ×', 'From: Jul 15, 2026, 12:00 PM ×']);
  });
});

test('many options that match are suggested up to a number', async () => {
  const models = Array.from({ length: 50 }, (_, number) => ({ value: `many/${number}`, label: `many/${number}` }));
  const many: readonly FilterField[] = [
    { name: 'search', label: 'Id' },
    { name: 'model', label: 'Model', options: models },
  ];
  const reader = show(<Filters label="Search" placeholder="Anything" fields={many} />, { at: '/requests' });
  await reader.type(screen.getByRole('combobox', { name: 'Search' }), 'm');
  expect(await screen.findAllByRole('option')).toHaveLength(30);
  await reader.keyboard('{ArrowDown}{ArrowDown}{Enter}');
  expect(selection()).toEqual({ model: 'many/0' });
  await expect.poll(() => screen.queryByRole('listbox')).toBeNull();
  // A list opens again for the next letter.
  await reader.keyboard('m');
  expect(await screen.findAllByRole('option')).toHaveLength(30);
});
