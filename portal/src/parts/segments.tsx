import { Radio, RadioGroup } from 'react-aria-components';
import type { Option } from './fields.tsx';

interface SegmentsProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (Option & { readonly value: Value })[];
  readonly onChange: (value: Value) => void;
}

/** One of a few visible choices. Arrow keys move between them. */
export function Segments<Value extends string>({ label, value, options, onChange }: SegmentsProps<Value>) {
  const choose = (chosen: string): void => {
    const option = options.find((one) => one.value === chosen);
    if (option !== undefined) onChange(option.value);
  };
  return (
    <RadioGroup aria-label={label} className="segments" orientation="horizontal" value={value} onChange={choose}>
      {options.map((option) => (
        <Radio key={option.value} value={option.value} className="segment">
          {option.label}
        </Radio>
      ))}
    </RadioGroup>
  );
}
