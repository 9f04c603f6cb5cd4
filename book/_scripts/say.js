/* A sentence in the language of the page: globalThis.WORDS has the translations, where there are any. {name} is a place for a part. */

globalThis.say = (sentence, parts = {}) => (globalThis.WORDS?.[sentence] ?? sentence).replace(/\{(\w+)\}/g, (place, name) => parts[name] ?? place);
