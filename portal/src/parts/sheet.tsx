import { type ReactNode, useEffect, useRef } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { Button } from './button.tsx';

interface SheetProps {
  readonly title: string;
  readonly onClose: () => void;
  /** The place of what is shown in a list. The arrow keys move to its neighbours. */
  readonly place?: Place | undefined;
  readonly children: ReactNode;
}

export interface Place {
  /** From 0. */
  readonly index: number;
  readonly count: number;
  readonly onMove: (index: number) => void;
}

const steps = [
  { label: 'Previous', icon: 'previous', key: 'ArrowLeft', by: -1 },
  { label: 'Next', icon: 'next', key: 'ArrowRight', by: 1 },
] as const;

/**
 * What a row has more, at the side of the page. It is shown while it is rendered: the page keeps in its address what is open.
 * Escape and a click beside it close it, and the focus returns to where it was.
 */
export function Sheet({ title, onClose, place, children }: SheetProps) {
  const sheet = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const move = (event: KeyboardEvent): void => {
      const step = steps.find(({ key }) => key === event.key);
      if (place === undefined || step === undefined || !isForSheet(event, sheet.current)) return;
      const index = place.index + step.by;
      if (index >= 0 && index < place.count) place.onMove(index);
    };
    document.addEventListener('keydown', move);
    return () => document.removeEventListener('keydown', move);
  }, [place]);
  return (
    <ModalOverlay className="overlay" data-side="" isOpen isDismissable onOpenChange={(open) => open || onClose()}>
      <Modal className="sheet" ref={sheet}>
        <Dialog>
          <header className="sheet-head">
            <Heading slot="title">{title}</Heading>
            {place !== undefined && <Steps {...place} />}
            <Button kind="quiet" icon="close" aria-label="Close" onPress={onClose} />
          </header>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function Steps({ index, count, onMove }: Place) {
  return (
    <>
      <span className="small muted number" role="status">
        {index + 1} of {count}
      </span>
      {steps.map(({ label, icon, key, by }) => (
        <Button
          {...{ kind: 'quiet', icon, 'aria-label': label, 'aria-keyshortcuts': key }}
          key={label}
          isDisabled={index + by < 0 || index + by >= count}
          onPress={() => onMove(index + by)}
        />
      ))}
    </>
  );
}

/** Parts that use the arrow keys themselves. */
const ownsArrows = 'input, select, textarea, [role=radiogroup], [role=tablist], [role=menu], .scroll, .code';

/** Whether an arrow key moves the sheet. The focus is on the body after a button was disabled under it. */
function isForSheet(event: KeyboardEvent, sheet: HTMLElement | null): boolean {
  const { target, altKey, ctrlKey, metaKey, shiftKey, defaultPrevented } = event;
  if (altKey || ctrlKey || metaKey || shiftKey || defaultPrevented || !(target instanceof Element)) return false;
  return target === document.body || (sheet?.contains(target) === true && target.closest(ownsArrows) === null);
}
