/** An amount in units of 10⁻¹² USD. Money is never a float. */
export type Money = bigint;

const decimals = 12;
const scale = 10n ** BigInt(decimals);

/** The largest balance a workspace may hold: $9,000,000, so that every amount fits a signed 64-bit column. */
export const maxBalance: Money = 9_000_000n * scale;

/**
 * Reads a decimal string in USD ("0.00000015", "25", "-3.5") exactly.
 * Returns undefined when it is not a plain decimal or has more than 12 decimals.
 */
export function parseUsd(text: string): Money | undefined {
  const match = /^(-?)(\d{1,18})(?:\.(\d{1,12}))?$/.exec(text);
  if (!match) return undefined;
  const [, sign, whole, fraction = ''] = match;
  const amount = BigInt(`${whole}${fraction.padEnd(decimals, '0')}`);
  return sign === '-' ? -amount : amount;
}

/** Prints an amount as a decimal string in USD, exactly, without trailing zeros: 150000n is "0.00000015". */
export function formatUsd(amount: Money): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  const whole = digits.slice(0, -decimals);
  return `${amount < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}
