import { formatUsd, type Money } from '../../core/money.ts';
import type { KeyOwner } from '../accounts/keys.ts';
import { monthStart, nextMonth } from '../core/statement.ts';

// The columns of FOCUS 1.2, the FinOps Open Cost and Usage Specification (https://focus.finops.org). A workspace is the billing
// account, an identity the sub account, a key the resource, a model the SKU.

/** The sorts of rows. A statement is the invoice of a month, so what is used late is a correction in the month that bills it. */
const sorts = {
  usage: { category: 'Usage', class: null },
  /** Usage of an earlier month that was settled when its statement was closed. */
  late: { category: 'Usage', class: 'Correction' },
  /** Takes late usage out of its own month, so that this sums to its statement. */
  moved: { category: 'Adjustment', class: null },
} as const;

/** What a row charges. */
export interface FocusCharge {
  readonly sort: keyof typeof sorts;
  readonly description: string;
  readonly cost: Money;
  /** The meter of a model, its quantity and its price. Undefined: the amount is all that is known. */
  readonly metered?:
    | {
        readonly model: string;
        readonly meter: string;
        readonly consumed: readonly [quantity: number, unit: string];
        /** The quantity times the unit price is the cost. */
        readonly priced: readonly [quantity: string, unit: string, unitPrice: Money];
        readonly category: 'Standard' | 'Other';
      }
    | undefined;
}

/** Whose charge it is, and when. */
export interface FocusFacts {
  /** When it was used. */
  readonly from: number;
  readonly until: number;
  /** The month whose statement bills it. */
  readonly billed: string;
  readonly key: string | undefined;
  readonly owner: KeyOwner | undefined;
  readonly workspace: { readonly id: string; readonly name: string };
  readonly tags: Readonly<Record<string, string>>;
  readonly provider: string;
}

/** FOCUS wants moments without parts of a second. */
const secondOf = (moment: number): string => new Date(moment).toISOString().replace('.000Z', 'Z');

/** The columns in the order of the file, and how each is read. */
const columns = {
  BilledCost: ({ cost }) => formatUsd(cost),
  BillingAccountId: (_, { workspace }) => workspace.id,
  BillingAccountName: (_, { workspace }) => workspace.name,
  BillingCurrency: () => 'USD',
  BillingPeriodEnd: (_, { billed }) => secondOf(monthStart(nextMonth(billed))),
  BillingPeriodStart: (_, { billed }) => secondOf(monthStart(billed)),
  ChargeCategory: ({ sort }) => sorts[sort].category,
  ChargeClass: ({ sort }) => sorts[sort].class,
  ChargeDescription: ({ description }) => description,
  ChargeFrequency: () => 'Usage-Based',
  ChargePeriodEnd: (_, { until }) => secondOf(until),
  ChargePeriodStart: (_, { from }) => secondOf(from),
  ConsumedQuantity: ({ metered }) => metered && `${metered.consumed[0]}`,
  ConsumedUnit: ({ metered }) => metered?.consumed[1],
  ContractedCost: ({ cost }) => formatUsd(cost),
  ContractedUnitPrice: ({ metered }) => metered && formatUsd(metered.priced[2]),
  EffectiveCost: ({ cost }) => formatUsd(cost),
  InvoiceId: () => null,
  InvoiceIssuerName: (_, { provider }) => provider,
  ListCost: ({ cost }) => formatUsd(cost),
  ListUnitPrice: ({ metered }) => metered && formatUsd(metered.priced[2]),
  PricingCategory: ({ metered }) => metered?.category,
  PricingQuantity: ({ metered }) => metered?.priced[0],
  PricingUnit: ({ metered }) => metered?.priced[1],
  ProviderName: (_, { provider }) => provider,
  PublisherName: (_, { provider }) => provider,
  ResourceId: (_, { key }) => key,
  ResourceName: (_, { owner }) => owner?.name,
  ResourceType: () => 'API Key',
  ServiceCategory: () => 'AI and Machine Learning',
  ServiceName: () => 'Language models',
  ServiceSubcategory: () => 'Generative AI',
  SkuId: ({ metered }) => metered?.model,
  SkuMeter: ({ metered }) => metered?.meter,
  SkuPriceDetails: () => null,
  SkuPriceId: ({ metered }) =>
    metered && `${metered.model}:${metered.meter.replaceAll(' ', '-').toLowerCase()}:${formatUsd(metered.priced[2])}`,
  SubAccountId: (_, { owner }) => owner?.identity,
  SubAccountName: (_, { owner }) => owner?.identityName,
  Tags: (_, { tags }) => (Object.keys(tags).length === 0 ? null : JSON.stringify(tags)),
} as const satisfies Readonly<Record<string, (charge: FocusCharge, facts: FocusFacts) => string | null | undefined>>;

export const focusColumns: readonly string[] = Object.keys(columns);
export type FocusRow = readonly (string | null)[];

/** A row in the order of `focusColumns`. */
export const focusRow = (charge: FocusCharge, facts: FocusFacts): FocusRow =>
  Object.values(columns).map((read) => read(charge, facts) ?? null);

/** Labels of a workspace and tags of requests are two schemes of tags: FOCUS wants a prefix for all but one. */
export const labelTags = (labels: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(labels).map(([label, value]) => [`label/${label}`, value]));
