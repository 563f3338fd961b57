import { useAddress } from '../data/address.ts';
import { isoOfLocal, localMinute } from '../format/local-minute.ts';
import { CommittedField } from './committed-field.tsx';

/** The time that a list is narrowed to, `from` and `to` of the address. */
export function TimeFields() {
  const [selection, change] = useAddress();
  const fields = [
    { name: 'from', label: 'From' },
    { name: 'to', label: 'To' },
  ] as const;
  return fields.map(({ name, label }) => (
    <CommittedField
      key={name}
      label={label}
      type="datetime-local"
      value={localMinute(selection[name] ?? null)}
      onCommit={(local) => change({ [name]: local === '' ? undefined : isoOfLocal(local) })}
    />
  ));
}
