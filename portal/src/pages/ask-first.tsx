import { Confirm } from '../parts/dialog.tsx';

const questions = {
  suspend: { action: 'Suspend', text: 'Its calls are refused from now on, until you resume it.' },
  resume: { action: 'Resume', text: 'Its calls are served again.' },
  revoke: { action: 'Revoke', text: 'Its calls are refused from now on. This cannot be undone.' },
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
