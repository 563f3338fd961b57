import { type Command, Option } from 'commander';
import type { AccountChange, AccountField, AccountFields, FieldKind } from '../../core/account-field.ts';
import { formatUsd } from '../../core/money.ts';
import {
  absent,
  countOption,
  labelsOption,
  modelsOption,
  momentOption,
  namesOption,
  optionOr,
  tagCountsOption,
  usdOption,
} from './option-values.ts';

/** What stands for a value in the help, and its parser. */
const forms: { readonly [Kind in FieldKind]?: readonly [placeholder: string, parse: (text: string) => unknown] } = {
  text: ['text', String],
  count: ['n', countOption(1)],
  money: ['usd', usdOption],
  moment: ['when', momentOption],
  models: ['patterns', modelsOption],
  labels: ['labels', labelsOption],
  'tag-counts': ['tag:n,…', tagCountsOption],
};

/** Adds the options of a table of fields, with their defaults. */
export function withFields(command: Command, fields: AccountFields): Command {
  for (const [key, field] of Object.entries(fields)) {
    const option = optionOf(key, field);
    const { default: usual } = field;
    if (option !== undefined) command.addOption(usual === undefined ? option : option.default(usual, textOf(usual)));
  }
  return command;
}

/** The word that removes the value of a field that can be absent. */
const none = 'none';

const changesOf = (fields: AccountFields): readonly Option[] =>
  Object.entries(fields).flatMap(([key, field]) => {
    const option = optionOf(key, field);
    if (option?.parseArg === undefined || field.optional !== true || field.default !== undefined) return option ?? [];
    const { flags, description, parseArg } = option;
    const parse = (text: string): unknown => parseArg(text, undefined);
    return new Option(flags, `${description}; or "${none}"`).argParser(optionOr(none, parse));
  });

/** The fields of a table that options give. Those that are removed are undefined. */
export function changesFrom<Fields extends AccountFields>(fields: Fields, options: object): AccountChange<Fields> {
  const given = Object.entries(options).filter(([key]) => key in fields);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the parsers of `forms` give the values of these fields
  return Object.fromEntries(
    given.map(([key, value]) => [key, value === absent ? undefined : value]),
  ) as AccountChange<Fields>;
}

/** Adds the options of a table of fields, without their defaults. */
export function withoutDefaults(command: Command, fields: AccountFields): Command {
  for (const option of changesOf(fields)) command.addOption(option);
  return command;
}

/** Adds the options of a table of fields. At least one is needed. */
export function withChanges(command: Command, fields: AccountFields): Command {
  const options = changesOf(fields);
  for (const option of options) command.addOption(option);
  const names = options.map(({ long }) => long).join(', ');
  return command.hook('preAction', () => {
    const given: object = command.opts();
    if (options.some((option) => option.attributeName() in given)) return;
    command.error(`error: give ${names}, or ${options.length === 2 ? 'both' : 'several of them'}`);
  });
}

function optionOf(key: string, field: AccountField): Option | undefined {
  const { kind, option } = field;
  const form = kind === 'names' ? (['names', namesOption(field.names)] as const) : forms[kind];
  if (option === undefined || form === undefined) return undefined;
  const [placeholder, parse] = form;
  const name = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const among = kind === 'names' ? `: ${field.names.join(', ')}` : '';
  return new Option(`--${name} <${placeholder}>`, `${option}${among}`).argParser(parse);
}

function textOf(usual: number | bigint): string {
  return typeof usual === 'bigint' ? formatUsd(usual) : `${usual}`;
}
