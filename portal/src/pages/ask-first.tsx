import { Confirm } from '../parts/dialog.tsx';

const questions = {
  suspend: { action: 'Suspend', status: 'suspended', text: 'Weir refuses its requests until you resume it.' },
  resume: { action: 'Resume', status: 'active', text: 'Weir accepts its requests again.' },
  revoke: { action: 'Revoke', status: 'revoked', text: 'Weir refuses its requests. You cannot undo this.' },
} as const;

export type Question = keyof typeof questions;

interface AskFirstProps {
  readonly kind: Question;
  readonly what: 'key' | 'identity' | 'workspace';
  readonly name: string;
  readonly onClose: () => void;
  /** Gets the status after the action. */
  readonly onConfirm: (status: (typeof questions)[Question]['status']) => Promise<void>;
}

/** Asks before calls are refused or served again. */
export function AskFirst({ kind, what, name, onClose, onConfirm }: AskFirstProps) {
  const { action, status, text } = questions[kind];
  return (
    <Confirm
      title={`${action} this ${what}?`}
      action={action}
      danger={kind !== 'resume'}
      onClose={onClose}
      onConfirm={() => onConfirm(status)}
    >
      <p>
        <strong>{name}</strong>: {text}
      </p>
    </Confirm>
  );
}
