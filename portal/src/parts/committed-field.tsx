import { TextField } from './fields.tsx';

interface CommittedFieldProps {
  readonly label: string;
  readonly type: 'search' | 'date' | 'datetime-local';
  readonly value: string;
  readonly onCommit: (value: string) => void;
}

/**
 * A field whose value counts on Enter, and when the field is left: each typed character would be another question to
 * the portal. A moment that is typed in part does not count.
 */
export function CommittedField({ label, type, value, onCommit }: CommittedFieldProps) {
  const commit = ({ value: typed, validity }: HTMLInputElement): void => {
    const text = typed.trim();
    if (!validity.badInput && text !== value) onCommit(text);
  };
  return (
    <TextField
      // The field begins anew when the value changes elsewhere.
      key={value}
      label={label}
      type={type}
      defaultValue={value}
      onBlur={({ currentTarget }) => commit(currentTarget)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === 'Enter') commit(currentTarget);
      }}
    />
  );
}
