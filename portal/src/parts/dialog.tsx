import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { Button } from './button.tsx';
import { Problem } from './states.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly role?: 'dialog' | 'alertdialog';
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

/** A window over the page. The keyboard stays inside, Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, onClose, role = 'dialog', isWide = false, children }: DialogProps) {
  return (
    <ModalOverlay className="overlay" isOpen onOpenChange={(open) => open || onClose()}>
      <Modal className="modal" data-wide={isWide ? '' : undefined}>
        <AriaDialog role={role}>
          <Heading slot="title">{title}</Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly action: string;
  readonly danger?: boolean;
  readonly onClose: () => void;
  /** When it rejects, the error is shown and the window stays open. */
  readonly onConfirm: () => Promise<unknown>;
  readonly children: ReactNode;
}

/** Asks for confirmation before an action. */
export function Confirm({ title, action, danger = false, onClose, onConfirm, children }: ConfirmProps) {
  const confirm = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  return (
    <Dialog title={title} onClose={onClose} role="alertdialog">
      {children}
      {confirm.error !== null && <Problem error={confirm.error} />}
      <div className="actions">
        <Button onPress={onClose} autoFocus>
          Cancel
        </Button>
        <Button kind={danger ? 'danger' : 'primary'} isDisabled={confirm.isPending} onPress={() => confirm.mutate()}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
