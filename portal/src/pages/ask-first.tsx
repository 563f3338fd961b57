import { Confirm } from '../parts/dialog.tsx';

const questions = {
  suspend: { action: 'Suspend', text: 'Weir refuses its requests until you resume it.' },
  resume: { action: 'Resume', text: 'Weir accepts its requests again.' },
  revoke: { action: 'Revoke', text: 'Weir refuses its requests. You cannot undo this.' },
} as const;

interface AskFirstProps {
  readonly kind: keyof typeof questions;
  readonly what: 'key' | 'identity';
  readonly name: string;
  readonly onClose: () => void;
  readonly onConfirm: () => Promise<void>;
}

/** Asks before calls are refused or served again. */
export function AskFirst({ kind, what, name, onClose, onConfirm }: AskFirstProps) {
  const { action, text } = questions[kind];
  const title = `${action} this ${what}?`;
  return (
    <Confirm title={title} action={action} danger={kind === 'revoke'} isOpen onClose={onClose} onConfirm={onConfirm}>
      <p>
        <strong>{name}</strong>: {text}
      </p>
    </Confirm>
  );
}
