import { render, screen } from '@testing-library/react';
import { expect, test } from 'vitest';
import { datasetOf } from '../src/parts/chart.tsx';
import { Loaded } from '../src/parts/states.tsx';
import { Trend } from '../src/parts/trend.tsx';

test('a line breaks where nothing was measured, and a value between two breaks is a point', () => {
  const line = datasetOf({ name: 'p50', values: [1, null, 3, null, 5, 6] }, 'red', 'lines');
  expect(line).toMatchObject({ type: 'line', pointRadius: [3, 0, 3, 0, 0, 0] });
  expect(line).not.toHaveProperty('spanGaps');
});

test.each([
  [{ now: 3_504, before: 2_970, was: '$2,970' }, 'up 18% vs. $2,970'],
  [{ now: 5, before: 10 }, 'down 50%'],
  [{ now: 5, before: 5, was: '5' }, 'unchanged'],
  [{ now: 0, before: 0, was: '0' }, 'unchanged'],
  [{ now: 5, before: 0, was: '0' }, 'none before'],
  [{ now: 5, before: 0 }, 'new'],
  [{ now: 5, before: undefined }, '–'],
])('a change of %j is %s', (given, words) => {
  render(<Trend {...given} />);
  expect(document.body).toHaveTextContent(words);
});

test('more errors are bad, fewer and more cost are not', () => {
  render(
    <>
      <Trend now={2} before={1} isBad />
      <Trend now={1} before={4} isBad />
      <Trend now={8} before={1} />
    </>,
  );
  const tones = ['100%', '75%', '700%'].map((share) => screen.getByText(new RegExp(share)).dataset['tone']);
  expect(tones).toEqual(['bad', undefined, undefined]);
});

test('figures of an older selection are marked as busy while the new ones load', () => {
  const query = { data: 7, isError: false, isPlaceholderData: true } as Parameters<typeof Loaded<number>>[0]['query'];
  const { container, rerender } = render(<Loaded query={query}>{(value) => <p>{value}</p>}</Loaded>);
  expect(container.firstElementChild).toHaveAttribute('aria-busy', 'true');
  rerender(<Loaded query={{ ...query, isPlaceholderData: false }}>{(value) => <p>{value}</p>}</Loaded>);
  expect(container.firstElementChild).toHaveAttribute('aria-busy', 'false');
});

test.each(['figures', 'columns', undefined] as const)('waiting has the shape of %s', (shape) => {
  const query = { data: undefined, isError: false } as Parameters<typeof Loaded<number>>[0]['query'];
  render(
    <Loaded query={query} shape={shape} lines={5}>
      {() => null}
    </Loaded>,
  );
  const placeholder = screen.getByRole('status', { name: 'Loading' });
  expect(placeholder.className.trim()).toBe(`waiting ${shape ?? 'card'}`);
  expect(placeholder.children).toHaveLength(5);
});
