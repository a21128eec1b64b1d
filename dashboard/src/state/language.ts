/**
 * The chart library formats numbers in the browser's language as soon as it is loaded. A Chromium without a locale (LANG=C, as in containers
 * and on wall displays) names one that is no language tag, `en-US@posix`: then nothing of the page would be drawn. Import this first.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en", configurable: true });
}
