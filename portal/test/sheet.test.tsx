import { screen, within } from '@testing-library/react';
import { useState } from 'react';
import { expect, test } from 'vitest';
import { Sheet } from '../src/parts/sheet.tsx';
import { show } from './support/show.tsx';

function Rows({ count, at = 0 }: { readonly count: number; readonly at?: number }) {
  const [open, setOpen] = useState<number>();
  return (
    <>
      <button type="button" onClick={() => setOpen(at)}>
        Open
      </button>
      {open !== undefined && (
        <Sheet
          title="Row"
          onClose={() => setOpen(undefined)}
          place={{ index: open, count, onMove: (index) => setOpen(index) }}
        >
          <p>This is row {open}.</p>
          <input aria-label="Note" defaultValue="a b" />
        </Sheet>
      )}
    </>
  );
}

async function open(count: number, at?: number) {
  const reader = show(<Rows count={count} {...(at === undefined ? {} : { at })} />);
  await reader.click(screen.getByRole('button', { name: 'Open' }));
  const sheet = within(await screen.findByRole('dialog', { name: 'Row' }));
  return { reader, sheet };
}

test('the arrow keys move to the neighbours and stop at the ends', async () => {
  const { reader, sheet } = await open(3, 1);
  expect(sheet.getByRole('status')).toHaveTextContent('2 of 3');
  await reader.keyboard('{ArrowRight}');
  expect(sheet.getByText('This is row 2.')).toBeVisible();
  await reader.keyboard('{ArrowRight}');
  expect(sheet.getByRole('status')).toHaveTextContent('3 of 3');
  expect(sheet.getByRole('button', { name: 'Next' })).toBeDisabled();
  await reader.keyboard('{ArrowLeft}{ArrowLeft}{ArrowLeft}');
  expect(sheet.getByText('This is row 0.')).toBeVisible();
});

test('its buttons move, also past the row where they end', async () => {
  const { reader, sheet } = await open(2);
  await reader.click(sheet.getByRole('button', { name: 'Next' }));
  expect(sheet.getByText('This is row 1.')).toBeVisible();
  // The focused button is disabled now. The keys still move.
  await reader.keyboard('{ArrowLeft}');
  expect(sheet.getByText('This is row 0.')).toBeVisible();
});

test('arrow keys inside a field and with a modifier do not move', async () => {
  const { reader, sheet } = await open(3, 1);
  await reader.click(sheet.getByLabelText('Note'));
  await reader.keyboard('{ArrowRight}{ArrowLeft}');
  sheet.getByRole('button', { name: 'Close' }).focus();
  await reader.keyboard('{Alt>}{ArrowLeft}{/Alt}');
  expect(sheet.getByText('This is row 1.')).toBeVisible();
});

test('Escape and Close close it, and the focus returns', async () => {
  const { reader } = await open(1);
  await reader.keyboard('{Escape}');
  expect(screen.queryByRole('dialog')).toBeNull();
  await expect.poll(() => document.activeElement?.textContent).toBe('Open');
  await reader.click(screen.getByRole('button', { name: 'Open' }));
  await reader.click(screen.getByRole('button', { name: 'Close' }));
  expect(screen.queryByRole('dialog')).toBeNull();
});
