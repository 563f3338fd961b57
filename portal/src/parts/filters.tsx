import { type ReactNode, useState } from 'react';
import { ComboBox, Input, Label, ListBox, ListBoxItem, Popover } from 'react-aria-components';
import { useAddress } from '../data/address.ts';
import { formatMoment } from '../format/format.ts';
import { isoOfLocal, localMinute } from '../format/local-minute.ts';
import { Button } from './button.tsx';
import { CommittedField } from './committed-field.tsx';
import { type Option, Select } from './fields.tsx';
import { Sheet } from './sheet.tsx';

/** A part of the selection in the address. */
export interface FilterField {
  readonly name: string;
  readonly label: string;
  /** Undefined: any text. */
  readonly options?: readonly Option[];
  /** The options follow what is typed. */
  readonly isSearched?: true;
  /** Which texts are for this field; undefined: the others. */
  readonly isFor?: RegExp;
}

interface FiltersProps {
  /** Of the search box. */
  readonly label: string;
  /** What can be typed into it. */
  readonly placeholder: string;
  readonly fields: readonly FilterField[];
  /** Whether the list has times, `from` and `to` of the address. */
  readonly hasTime?: true;
  /** Called with what is typed, so that the options of a field can follow it. */
  readonly onType?: (text: string) => void;
  /** What the whole page is about, such as the workspace. A phone shows it, too. */
  readonly children?: ReactNode;
}

const times = [
  { name: 'from', label: 'From' },
  { name: 'to', label: 'To' },
] as const;

/** What a list is narrowed to: a search box, and a chip for each part. On a phone, a button opens all of it in a sheet. */
export function Filters({ children, ...given }: FiltersProps) {
  const { fields, hasTime } = given;
  const [selection, change] = useAddress();
  const [isOpen, setOpen] = useState(false);
  const labelOf = ({ options }: FilterField, value: string): string =>
    options?.find((option) => option.value === value)?.label ?? value;
  const chips = [
    ...fields.map((field) => ({ ...field, shown: (value: string) => labelOf(field, value) })),
    ...(hasTime ? times.map((time) => ({ ...time, shown: formatMoment })) : []),
  ].flatMap(({ name, label, shown }) => {
    const value = selection[name];
    return value === undefined ? [] : [{ name, text: `${label}: ${shown(value)}` }];
  });
  return (
    <div className="filters" role="search" aria-label="Filters">
      <SearchBox {...given} />
      {children}
      {hasTime && <Presets />}
      <Button icon="filter" onPress={() => setOpen(true)}>
        Filters
      </Button>
      {chips.length > 0 && (
        <div className="chips">
          {chips.map(({ name, text }) => (
            <button
              key={name}
              type="button"
              className="chip"
              aria-label={`Remove ${text}`}
              onClick={() => change({ [name]: undefined })}
            >
              {text} <span aria-hidden>×</span>
            </button>
          ))}
          <Button
            {...{ kind: 'quiet', size: 'small' }}
            onPress={() => change(Object.fromEntries(chips.map(({ name }) => [name, undefined])))}
          >
            Clear
          </Button>
        </div>
      )}
      {isOpen && (
        <Sheet title="Filters" onClose={() => setOpen(false)}>
          <SearchBox {...given} />
          {fields.map(
            (field) =>
              field.options && !field.isSearched && <Choice key={field.name} of={field} options={field.options} />,
          )}
          {hasTime && <Presets />}
          {hasTime &&
            times.map(({ name, label }) => (
              <CommittedField
                key={name}
                label={label}
                type="datetime-local"
                value={localMinute(selection[name] ?? null)}
                onCommit={(local) => change({ [name]: local === '' ? undefined : isoOfLocal(local) })}
              />
            ))}
          <Button kind="primary" onPress={() => setOpen(false)}>
            Done
          </Button>
        </Sheet>
      )}
    </div>
  );
}

const maxSuggestions = 30;

/** Suggests parts of the selection for what is typed. Enter without one searches for the text. */
function SearchBox({ label, placeholder, fields, onType }: FiltersProps) {
  const [, change] = useAddress();
  const [typed, setTyped] = useState('');
  // A list without suggestions closes. It would stay open beside the box that was just emptied.
  const [isTaken, setTaken] = useState(false);
  const text = typed.trim();
  const type = (next: string): void => {
    setTyped(next);
    onType?.(next.trim());
  };
  const suggestions = fields
    .flatMap(({ name, label: field, options, isSearched }) =>
      (options ?? (text === '' ? [] : [{ value: text, label: text }]))
        .map((option) => ({
          ...{ id: `${name} ${option.value}`, name, value: option.value, text: `${field}: ${option.label}` },
        }))
        .filter((one) => isSearched || one.text.toLowerCase().includes(text.toLowerCase())),
    )
    .slice(0, maxSuggestions);
  const take = (name: string | undefined, value: string): void => {
    type('');
    if (name !== undefined) change({ [name]: value });
  };
  const search = (): void => {
    const texts = fields.filter(({ options }) => options === undefined);
    const field = texts.find(({ isFor }) => isFor?.test(text)) ?? texts.find(({ isFor }) => isFor === undefined);
    if (text !== '') take(field?.name, text);
  };
  return (
    <ComboBox
      className="field search-box"
      items={isTaken ? [] : suggestions}
      onOpenChange={(isOpen) => isOpen || setTaken(false)}
      allowsCustomValue
      menuTrigger={text === '' ? 'manual' : 'input'}
      inputValue={typed}
      onInputChange={type}
      selectedKey={null}
      onSelectionChange={(id) => {
        const chosen = suggestions.find((suggestion) => suggestion.id === id);
        if (chosen === undefined) return;
        setTaken(true);
        take(chosen.name, chosen.value);
      }}
    >
      <Label>{label}</Label>
      <Input
        className="input"
        placeholder={placeholder}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter' && !currentTarget.getAttribute('aria-activedescendant')) search();
        }}
      />
      <Popover className="card popup-menu popup-list" placement="bottom start">
        <ListBox<(typeof suggestions)[number]>>
          {(suggestion) => (
            <ListBoxItem id={suggestion.id} textValue={suggestion.text} className="popup-menu-item">
              {suggestion.text}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}

/** A choice that is not among the options stays one, for example if its model has left the catalog. */
function Choice({ of: { name, label }, options }: { readonly of: FilterField; readonly options: readonly Option[] }) {
  const [selection, change] = useAddress();
  const value = selection[name] ?? '';
  const isListed = value === '' || options.some((option) => option.value === value);
  return (
    <Select
      label={label}
      value={value}
      onChange={(chosen) => change({ [name]: chosen })}
      options={[{ value: '', label: 'All' }, ...options, ...(isListed ? [] : [{ value, label: value }])]}
    />
  );
}

const hourMs = 3_600_000;

/** Common times, by their first moment. The address has it, so a link shows the same requests later. */
const presets = [
  { word: 'Last hour', since: () => Date.now() - hourMs },
  { word: 'Today', since: () => new Date().setHours(0, 0, 0, 0) },
  { word: '7 days', since: () => Date.now() - 7 * 24 * hourMs },
];

function Presets() {
  const [, change] = useAddress();
  return (
    <div className="actions presets">
      {presets.map(({ word, since }) => (
        <Button
          key={word}
          size="small"
          onPress={() => change({ from: new Date(since()).toISOString(), to: undefined })}
        >
          {word}
        </Button>
      ))}
    </div>
  );
}
