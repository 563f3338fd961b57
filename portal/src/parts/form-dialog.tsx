import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { Dialog } from './dialog.tsx';
import { type FieldOf, fieldsOf, FormEnd } from './form-end.tsx';

interface FormDialogProps<First, Given> {
  readonly title: string;
  /** Word of the button that sends. */
  readonly action: string;
  /** The first value of each field. */
  readonly first: First;
  /** What is sent. */
  readonly read: (form: FormData) => Given;
  /** When it rejects, the error is shown and the dialog stays open. */
  readonly onSubmit: (given: Given) => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: (fieldOf: FieldOf<First>) => ReactNode;
}

/** A form in a dialog of its own. */
export function FormDialog<First extends object, Given extends object>({
  title,
  action,
  first,
  read,
  onSubmit,
  onClose,
  children,
}: FormDialogProps<First, Given>) {
  const state = useMutation({ mutationFn: onSubmit, onSuccess: onClose });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    state.mutate(read(new FormData(event.currentTarget)));
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {children(fieldsOf(first, state))}
        <FormEnd action={action} state={state} fields={Object.keys(first)} onClose={onClose} />
      </form>
    </Dialog>
  );
}
