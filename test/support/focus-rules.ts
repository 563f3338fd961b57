// The rules of FOCUS 1.2 for a row, in our words, from the pages of its columns and attributes:
// https://github.com/FinOps-Open-Cost-and-Usage-Spec/FOCUS_Spec/tree/v1.2/specification

interface Rule {
  readonly type: 'string' | 'decimal' | 'moment' | 'json';
  readonly level: 'mandatory' | 'recommended' | 'conditional';
  readonly nulls: boolean;
  readonly values?: readonly string[];
  readonly notNegative?: true;
}

type Level = Rule['level'];
const text = (level: Level, values?: readonly string[]): Rule => ({
  type: 'string',
  level,
  nulls: false,
  ...(values && { values }),
});
const textOrNull = (level: Level, values?: readonly string[]): Rule => ({ ...text(level, values), nulls: true });
const decimal = (level: Level): Rule => ({ type: 'decimal', level, nulls: false });
const decimalOrNull = (level: Level): Rule => ({ type: 'decimal', level, nulls: true });
const price: Rule = { type: 'decimal', level: 'conditional', nulls: true, notNegative: true };
const moment: Rule = { type: 'moment', level: 'mandatory', nulls: false };
const json: Rule = { type: 'json', level: 'conditional', nulls: true };

const categories = [
  ...[
    'AI and Machine Learning',
    'Analytics',
    'Business Applications',
    'Compute',
    'Databases',
    'Developer Tools',
    'Multicloud',
  ],
  ...[
    'Identity',
    'Integration',
    'Internet of Things',
    'Management and Governance',
    'Media',
    'Migration',
    'Mobile',
    'Networking',
  ],
  ...['Security', 'Storage', 'Web', 'Other'],
];

const columns: Readonly<Record<string, Rule>> = {
  AvailabilityZone: textOrNull('recommended'),
  BilledCost: decimal('mandatory'),
  BillingAccountId: text('mandatory'),
  BillingAccountName: textOrNull('mandatory'),
  BillingAccountType: text('conditional'),
  BillingCurrency: text('mandatory', ['USD']),
  BillingPeriodEnd: moment,
  BillingPeriodStart: moment,
  CapacityReservationId: textOrNull('conditional'),
  CapacityReservationStatus: textOrNull('conditional', ['Used', 'Unused']),
  ChargeCategory: text('mandatory', ['Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment']),
  ChargeClass: textOrNull('mandatory', ['Correction']),
  ChargeDescription: textOrNull('mandatory'),
  ChargeFrequency: text('recommended', ['One-Time', 'Recurring', 'Usage-Based']),
  ChargePeriodEnd: moment,
  ChargePeriodStart: moment,
  CommitmentDiscountCategory: textOrNull('conditional', ['Spend', 'Usage']),
  CommitmentDiscountId: textOrNull('conditional'),
  CommitmentDiscountName: textOrNull('conditional'),
  CommitmentDiscountQuantity: decimalOrNull('conditional'),
  CommitmentDiscountStatus: textOrNull('conditional', ['Used', 'Unused']),
  CommitmentDiscountType: textOrNull('conditional'),
  CommitmentDiscountUnit: textOrNull('conditional'),
  ConsumedQuantity: decimalOrNull('conditional'),
  ConsumedUnit: textOrNull('conditional'),
  ContractedCost: decimal('mandatory'),
  ContractedUnitPrice: price,
  EffectiveCost: decimal('mandatory'),
  InvoiceId: textOrNull('recommended'),
  InvoiceIssuerName: text('mandatory'),
  ListCost: decimal('mandatory'),
  ListUnitPrice: price,
  PricingCategory: textOrNull('conditional', ['Standard', 'Dynamic', 'Committed', 'Other']),
  PricingCurrency: textOrNull('conditional'),
  PricingCurrencyContractedUnitPrice: price,
  PricingCurrencyEffectiveCost: decimalOrNull('conditional'),
  PricingCurrencyListUnitPrice: price,
  PricingQuantity: decimalOrNull('mandatory'),
  PricingUnit: textOrNull('mandatory'),
  ProviderName: text('mandatory'),
  PublisherName: text('mandatory'),
  RegionId: textOrNull('conditional'),
  RegionName: textOrNull('conditional'),
  ResourceId: textOrNull('conditional'),
  ResourceName: textOrNull('conditional'),
  ResourceType: textOrNull('conditional'),
  ServiceCategory: text('mandatory', categories),
  ServiceName: text('mandatory'),
  ServiceSubcategory: text('recommended', [
    ...['AI Platforms', 'Bots', 'Generative AI', 'Machine Learning', 'Natural Language Processing'],
    'Other (AI and Machine Learning)',
  ]),
  SkuId: textOrNull('conditional'),
  SkuMeter: textOrNull('conditional'),
  SkuPriceDetails: json,
  SkuPriceId: textOrNull('conditional'),
  SubAccountId: textOrNull('conditional'),
  SubAccountName: textOrNull('conditional'),
  SubAccountType: textOrNull('conditional'),
  Tags: json,
};

export type FocusRecord = Readonly<Record<string, string | null>>;

/** What a file of these columns lacks, and the columns that it must not have. */
export function focusColumnFaults(given: readonly string[]): readonly string[] {
  const known = new Set(given);
  const missing = Object.entries(columns).flatMap(([name, { level }]) =>
    level === 'mandatory' && !known.has(name) ? [name] : [],
  );
  const strange = given.filter((name) => !(name in columns) && !name.startsWith('x_'));
  return [...missing.map((name) => `${name} is missing`), ...strange.map((name) => `${name} is not known`)];
}

/** The rules that a row breaks. */
export function focusFaults(row: FocusRecord): readonly string[] {
  return [
    ...Object.entries(row).flatMap(([name, value]) =>
      columns[name] === undefined ? [] : valueFaults(name, value, columns[name]),
    ),
    ...rowRules.flatMap(([fault, holds]) => (holds(row) ? [] : [fault])),
  ];
}

const forms = {
  string: /\S/,
  decimal: /^-?\d+(\.\d+)?(E-?\d+)?$/,
  moment: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/,
  json: /^\{.*\}$/,
} as const;

function valueFaults(
  name: string,
  value: string | null,
  { type, nulls, values, notNegative }: Rule,
): readonly string[] {
  if (value === null) return nulls ? [] : [`${name} is null`];
  if (!forms[type].test(value)) return [`${name} is no ${type}: ${value}`];
  if (values?.includes(value) === false) return [`${name} may not be ${value}`];
  if (notNegative && value.startsWith('-')) return [`${name} is negative`];
  if (type !== 'json') return [];
  const object = Object.values(JSON.parse(value) as object);
  return object.every((one) => one === null || typeof one !== 'object') ? [] : [`${name} is nested`];
}

/** Decimals as integers of the same scale, so that products are exact. */
const scale = 12;
function scaled(value: string | null | undefined): bigint {
  const [whole = '0', fraction = ''] = (value ?? '0').replace('-', '').split('.');
  const size = BigInt(`${whole}${fraction.padEnd(scale, '0')}`);
  return value?.startsWith('-') ? -size : size;
}
const isProduct = (row: FocusRecord, unitPrice: string, cost: string): boolean =>
  isNull(row, 'PricingQuantity', unitPrice) ||
  row['ChargeClass'] === 'Correction' ||
  scaled(row['PricingQuantity']) * scaled(row[unitPrice]) === scaled(row[cost]) * 10n ** BigInt(scale);

const isNull = (row: FocusRecord, ...names: readonly string[]): boolean =>
  names.every((name) => (row[name] ?? null) === null);
const isSet = (row: FocusRecord, ...names: readonly string[]): boolean =>
  names.every((name) => (row[name] ?? null) !== null);
const together = (row: FocusRecord, one: string, other: string): boolean => isSet(row, one) === isSet(row, other);
const isUsage = (row: FocusRecord): boolean => row['ChargeCategory'] === 'Usage' && isNull(row, 'ChargeClass');

/** Rules about several columns. */
const rowRules: readonly (readonly [fault: string, holds: (row: FocusRecord) => boolean])[] = [
  [
    'usage needs quantities, prices and a SKU',
    (row) =>
      !isUsage(row) ||
      isSet(
        row,
        'PricingQuantity',
        'ListUnitPrice',
        'ContractedUnitPrice',
        'PricingCategory',
        'SkuId',
        'SkuPriceId',
        'ConsumedQuantity',
      ),
  ],
  ['PricingQuantity × ListUnitPrice is ListCost', (row) => isProduct(row, 'ListUnitPrice', 'ListCost')],
  [
    'PricingQuantity × ContractedUnitPrice is ContractedCost',
    (row) => isProduct(row, 'ContractedUnitPrice', 'ContractedCost'),
  ],
  ['a pricing quantity has a unit', (row) => together(row, 'PricingQuantity', 'PricingUnit')],
  ['a consumed quantity has a unit', (row) => together(row, 'ConsumedQuantity', 'ConsumedUnit')],
  [
    'units begin with a capital',
    (row) => ['PricingUnit', 'ConsumedUnit'].every((name) => /^([A-Z]|$)/.test(row[name] ?? '')),
  ],
  ['a sub account has a name', (row) => together(row, 'SubAccountId', 'SubAccountName')],
  ['a resource has a type', (row) => together(row, 'ResourceId', 'ResourceType')],
  [
    'a meter and a price belong to a SKU',
    (row) => isSet(row, 'SkuId') || isNull(row, 'SkuMeter', 'SkuPriceId', 'SkuPriceDetails'),
  ],
  ['a name does not repeat the id', (row) => isNull(row, 'ResourceName') || row['ResourceName'] !== row['ResourceId']],
  [
    'usage is no purchase by frequency',
    (row) => row['ChargeCategory'] !== 'Purchase' || row['ChargeFrequency'] !== 'Usage-Based',
  ],
  [
    'the charge period lies in the billing period, or before it in a correction',
    ({
      ChargeClass: of,
      BillingPeriodStart: start,
      BillingPeriodEnd: end,
      ChargePeriodStart: from,
      ChargePeriodEnd: to,
    }) =>
      of === null
        ? `${start}` <= `${from}` && `${from}` < `${to}` && `${to}` <= `${end}`
        : `${from}` < `${to}` && `${to}` <= `${start}`,
  ],
  [
    'only usage has a consumed quantity',
    (row) => row['ChargeCategory'] === 'Usage' || isNull(row, 'ConsumedQuantity', 'ConsumedUnit'),
  ],
];
